use super::*;

fn levels(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn people() -> [Field; 2] {
    [Field::numbers("age"), Field::categories("region", &levels(&["north", "south", "west"]))]
}

fn encode(design: &Design, ages: &[f64], codes: &[u32], names: &[&str]) -> Result<Rows, DesignError> {
    let names = levels(names);
    let age = Column { name: "age", values: Values::Numbers(ages) };
    let region = Column { name: "region", values: Values::Categories { codes, levels: &names } };
    design.encode(&[region, age], |_| true)
}

const THREE: [&str; 3] = ["north", "south", "west"];

#[test]
fn the_first_level_is_the_reference_unless_another_is_chosen() {
    let design = Design::new(&people(), &Settings::default()).unwrap();
    assert_eq!(design.names(), ["age", "region=south", "region=west"]);
    let references = vec![("region".to_owned(), "south".to_owned())];
    let design = Design::new(&people(), &Settings { references, ..Settings::default() }).unwrap();
    assert_eq!(design.names(), ["age", "region=north", "region=west"]);
    let rows = encode(&design, &[1.0, 2.0, 3.0], &[0, 1, 2], &THREE).unwrap();
    assert_eq!(rows.x.as_slice(), [1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 1.0]);
}

#[test]
fn batches_with_their_levels_in_another_order_mean_the_same() {
    let design = Design::new(&people(), &Settings::default()).unwrap();
    let one = encode(&design, &[1.0, 2.0], &[1, 2], &THREE).unwrap();
    let other = encode(&design, &[1.0, 2.0], &[2, 0], &["west", "north", "south"]).unwrap();
    assert_eq!(one, other);
}

#[test]
fn a_level_never_seen_is_refused_only_where_it_occurs() {
    let design = Design::new(&people(), &Settings::default()).unwrap();
    assert!(encode(&design, &[1.0], &[0], &["north", "east"]).is_ok());
    let error = encode(&design, &[1.0, 2.0], &[0, 1], &["north", "east"]).unwrap_err();
    assert!(matches!(error, DesignError::NewLevel { row: 1, ref level, .. } if level == "east"), "{error}");
}

#[test]
fn missing_values_are_refused_dropped_or_take_the_mean() {
    let make = |missing| Design::new(&people(), &Settings { missing, ..Settings::default() }).unwrap();
    let (ages, codes) = ([1.0, f64::NAN, 3.0, 8.0], [0, 1, u32::MAX, 1]);
    let error = encode(&make(Missing::Error), &ages, &codes, &THREE).unwrap_err();
    assert!(matches!(error, DesignError::Missing { row: 1, ref column, .. } if column == "age"), "{error}");
    let dropped = encode(&make(Missing::Drop), &ages, &codes, &THREE).unwrap();
    assert_eq!((dropped.kept.as_slice(), dropped.x.rows()), (&[0, 3][..], 2));

    let design = make(Missing::Mean);
    assert!(encode(&design, &ages, &codes, &THREE).is_err(), "without means there is nothing to fill in");
    let mut means = Means::new(&design);
    let names = levels(&THREE);
    let age = Column { name: "age", values: Values::Numbers(&ages) };
    let region = Column { name: "region", values: Values::Categories { codes: &codes, levels: &names } };
    // In two batches, as a reader would hand them out.
    for part in [0..2, 2..4] {
        let age = Column { values: Values::Numbers(&ages[part.clone()]), ..age };
        let values = Values::Categories { codes: &codes[part], levels: &names };
        means.observe(&design, &[age, Column { values, ..region }]).unwrap();
    }
    let rows = encode(&design.with_means(&means).unwrap(), &ages, &codes, &THREE).unwrap();
    assert_eq!((rows.x.row(1)[0], rows.filled), (4.0, 2));
    // Two of the three regions known are south, none is west.
    assert_eq!(rows.x.row(2), [3.0, 2.0 / 3.0, 0.0]);
}

#[test]
fn infinities_are_missing_too() {
    let design = Design::new(&[Field::numbers("age")], &Settings::default()).unwrap();
    let age = Column { name: "age", values: Values::Numbers(&[f64::INFINITY]) };
    let error = design.encode(&[age], |_| true).unwrap_err();
    assert!(error.to_string().contains("inf"), "{error}");
}

#[test]
fn products_of_levels_that_say_nothing_are_not_formed() {
    let settings = Settings { degree: 2, ..Settings::default() };
    let design = Design::new(&people(), &settings).unwrap();
    let expected = ["age", "region=south", "region=west", "age^2", "age*region=south", "age*region=west"];
    assert_eq!(design.names(), expected);
    let rows = encode(&design, &[3.0], &[2], &THREE).unwrap();
    assert_eq!(rows.x.as_slice(), [3.0, 0.0, 1.0, 9.0, 0.0, 3.0]);
    let settings = Settings { degree: 2, interactions_only: true, ..Settings::default() };
    assert_eq!(Design::new(&people(), &settings).unwrap().names().len(), 5);
}

#[test]
fn what_cannot_be_a_design_is_said() {
    let new = |fields: &[Field], settings: &Settings| Design::new(fields, settings).unwrap_err();
    let plain = Settings::default();
    assert_eq!(new(&[], &plain), DesignError::NoColumns);
    assert!(matches!(new(&[Field::categories("empty", &[])], &plain), DesignError::AllMissing { .. }));
    let many: Vec<String> = (0..=MOST_LEVELS).map(|i| i.to_string()).collect();
    let error = new(&[Field::categories("id", &many)], &plain);
    assert!(error.hint().unwrap().contains("\"id\""), "{error}");
    let reference = |column: &str, level: &str| Settings {
        references: vec![(column.to_owned(), level.to_owned())],
        ..Settings::default()
    };
    assert!(matches!(new(&people(), &reference("region", "east")), DesignError::NoLevel { .. }));
    assert!(new(&people(), &reference("age", "3")).to_string().contains("holds numbers"));
    assert!(matches!(new(&people(), &reference("size", "3")), DesignError::NoColumn { .. }));
    let design = Design::new(&people(), &plain).unwrap();
    let numbers = |name| Column { name, values: Values::Numbers(&[1.0]) };
    let error = design.encode(&[numbers("age"), numbers("region")], |_| true).unwrap_err();
    assert!(matches!(error, DesignError::NotCategories { .. }), "{error}");
    assert!(matches!(design.encode(&[numbers("age")], |_| true), Err(DesignError::NoColumn { .. })));
}

#[test]
fn truth_values_are_numbers_whether_words_say_them_or_not() {
    let words = levels(&["TRUE", "false", "True"]);
    let said =
        Column { name: "flag", values: Values::Categories { codes: &[0, 1, 2, u32::MAX], levels: &words } };
    let stored = Column { name: "flag", values: Values::Numbers(&[1.0, 0.0, 1.0, f64::NAN]) };
    let settings = Settings { missing: Missing::Drop, ..Settings::default() };
    for column in [&said, &stored] {
        assert_eq!(Field::of(column), Field::numbers("flag"));
        let design = Design::new(&[Field::of(column)], &settings).unwrap();
        assert_eq!(design.names(), ["flag"]);
        for batch in [said, stored] {
            let rows = design.encode(&[batch], |_| true).unwrap();
            assert_eq!((rows.x.as_slice(), rows.kept.as_slice()), (&[1.0, 0.0, 1.0][..], &[0, 1, 2][..]));
        }
    }
    // Asked for as categories they are words like any other; and a word beside them makes all of them words.
    let design = Design::new(&[Field::categories("flag", &words)], &settings).unwrap();
    assert_eq!(design.names(), ["flag=false", "flag=True"]);
    let more = levels(&["True", "False", "maybe"]);
    let other = Column { name: "flag", values: Values::Categories { codes: &[0], levels: &more } };
    assert_eq!(Field::of(&other), Field::categories("flag", &more));
    let design = Design::new(&[Field::of(&said)], &settings).unwrap();
    assert!(matches!(design.encode(&[other], |_| true), Err(DesignError::NotNumbers { .. })));
}
