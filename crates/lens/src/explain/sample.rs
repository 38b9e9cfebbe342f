//! Small data sets with known answers, made by formula with a fixed seed.

use super::random::Random;
use super::{Severity, Severity::Caution, Severity::Serious};

/// One sample: what it is called, what it is, and what an explanation of it must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its name.
    pub name: &'static str,
    /// What it holds, in words.
    pub about: &'static str,
    /// The findings to act on that it was made to have: all of them, and no other.
    pub findings: &'static [(&'static str, Severity)],
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    ExactDependency,
    NearDependency,
    Quadratic,
    Interaction,
    Outlier,
    SeparatedClasses,
    SaturatedAttention,
    CollinearValues,
}

/// What a sample holds.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleData {
    /// Named columns of one length.
    Table {
        /// The columns, the target among them.
        columns: Vec<(&'static str, SampleColumn)>,
        /// The column to explain.
        target: &'static str,
    },
    /// Queries, keys and values.
    Attention {
        /// `(B, H, N)` and `D`.
        shape: [usize; 4],
        /// `(B, H, N, D)`.
        q: Vec<f64>,
        /// `(B, H, N, D)`.
        k: Vec<f64>,
        /// `(B, H, N, D)`.
        v: Vec<f64>,
    },
}

/// A column of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum SampleColumn {
    /// Numbers.
    Numbers(Vec<f64>),
    /// Words.
    Words(Vec<&'static str>),
}

/// All samples.
pub const SAMPLES: [Sample; 8] = [
    Sample {
        name: "exact-dependency",
        about: "60 households; `total` is the sum of three other columns",
        findings: &[("exact-dependency", Serious)],
        kind: Kind::ExactDependency,
    },
    Sample {
        name: "near-dependency",
        about: "80 days; the temperature twice, in °C and in °F, each with its own thermometer's error",
        findings: &[("near-dependency", Caution), ("undetermined-coefficients", Caution)],
        kind: Kind::NearDependency,
    },
    Sample {
        name: "quadratic",
        about: "300 trials; the yield depends on the square of `dose`",
        findings: &[("structure-beyond-span", Caution)],
        kind: Kind::Quadratic,
    },
    Sample {
        name: "interaction",
        about: "300 plots; water helps where there is light: a product of two columns",
        findings: &[("structure-beyond-span", Caution)],
        kind: Kind::Interaction,
    },
    Sample {
        name: "outlier",
        about: "60 houses; the price of the last and largest lost a digit",
        findings: &[("outlier", Serious)],
        kind: Kind::Outlier,
    },
    Sample {
        name: "separated-classes",
        about: "80 batches that passed or failed; one measurement separates them completely",
        findings: &[("separated-classes", Serious)],
        kind: Kind::SeparatedClasses,
    },
    Sample {
        name: "saturated-attention",
        about: "2 heads, 96 queries and keys of width 16 whose scores are thirty times too large",
        findings: &[("saturated-softmax", Serious)],
        kind: Kind::SaturatedAttention,
    },
    Sample {
        name: "collinear-values",
        about: "2 heads, 96 queries and keys; the values of the second head lie close to a line",
        findings: &[("collinear-values", Caution)],
        kind: Kind::CollinearValues,
    },
];

/// The sample of this name.
pub fn sample(name: &str) -> Option<Sample> {
    SAMPLES.into_iter().find(|sample| sample.name == name)
}

impl Sample {
    /// Whether it is queries, keys and values, and not a table.
    pub fn is_attention(&self) -> bool {
        matches!(self.kind, Kind::SaturatedAttention | Kind::CollinearValues)
    }

    /// Makes the data; the same each time.
    pub fn data(&self) -> SampleData {
        match self.kind {
            Kind::ExactDependency => exact_dependency(),
            Kind::NearDependency => near_dependency(),
            Kind::Quadratic => quadratic(),
            Kind::Interaction => interaction(),
            Kind::Outlier => outlier(),
            Kind::SeparatedClasses => separated_classes(),
            Kind::SaturatedAttention => saturated_attention(),
            Kind::CollinearValues => collinear_values(),
        }
    }
}

/// As people write numbers down: to `decimals` places.
fn written(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    (value * unit).round() / unit
}

fn table(target: &'static str, columns: Vec<(&'static str, Vec<f64>)>) -> SampleData {
    let columns = columns.into_iter().map(|(name, values)| (name, SampleColumn::Numbers(values))).collect();
    SampleData::Table { columns, target }
}

fn exact_dependency() -> SampleData {
    let mut random = Random::new(1);
    let (mut rent, mut food, mut travel, mut total, mut saved) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..60 {
        let parts = [
            random.between(400.0, 1200.0).round(),
            random.between(200.0, 700.0).round(),
            random.between(20.0, 300.0).round(),
        ];
        let sum: f64 = parts.iter().sum();
        rent.push(parts[0]);
        food.push(parts[1]);
        travel.push(parts[2]);
        total.push(sum);
        saved.push(written(1500.0 - 0.6 * sum + 0.3 * parts[1] + 40.0 * random.normal(), 1));
    }
    table(
        "saved",
        vec![("rent", rent), ("food", food), ("travel", travel), ("total", total), ("saved", saved)],
    )
}

fn near_dependency() -> SampleData {
    let mut random = Random::new(2);
    let (mut celsius, mut fahrenheit, mut wind, mut sales) = (vec![], vec![], vec![], vec![]);
    for _ in 0..80 {
        let (t, w) = (random.between(2.0, 32.0), random.between(0.0, 12.0));
        celsius.push(written(t + 0.1 * random.normal(), 1));
        fahrenheit.push(written(32.0 + 1.8 * t + 0.2 * random.normal(), 1));
        wind.push(written(w, 1));
        sales.push((120.0 + 9.0 * t - 4.0 * w + 25.0 * random.normal()).round());
    }
    table("sales", vec![("celsius", celsius), ("fahrenheit", fahrenheit), ("wind", wind), ("sales", sales)])
}

fn quadratic() -> SampleData {
    let mut random = Random::new(3);
    let (mut dose, mut heat, mut time, mut gain) = (vec![], vec![], vec![], vec![]);
    for _ in 0..300 {
        let (d, h, t) = (random.between(-3.0, 3.0), random.between(20.0, 80.0), random.between(1.0, 9.0));
        dose.push(written(d, 3));
        heat.push(written(h, 2));
        time.push(written(t, 2));
        gain.push(written(40.0 - 3.0 * d * d + 0.05 * h + 0.4 * t + 1.5 * random.normal(), 3));
    }
    table("yield", vec![("dose", dose), ("heat", heat), ("time", time), ("yield", gain)])
}

fn interaction() -> SampleData {
    let mut random = Random::new(4);
    let (mut water, mut light, mut soil, mut growth) = (vec![], vec![], vec![], vec![]);
    for _ in 0..300 {
        let (w, l, s) = (random.between(0.0, 10.0), random.between(0.0, 8.0), random.between(4.0, 9.0));
        water.push(written(w, 2));
        light.push(written(l, 2));
        soil.push(written(s, 2));
        growth.push(written(5.0 + 0.5 * (w - 5.0) * (l - 4.0) + 0.8 * s + 0.9 * random.normal(), 3));
    }
    table("growth", vec![("water", water), ("light", light), ("soil", soil), ("growth", growth)])
}

fn outlier() -> SampleData {
    let mut random = Random::new(5);
    let (mut area, mut age, mut price) = (vec![], vec![], vec![]);
    for i in 0..60 {
        let last = i == 59;
        let (a, y) =
            (if last { 320.0 } else { random.between(50.0, 220.0) }, random.between(0.0, 60.0).round());
        let paid = 60.0 + 2.4 * a - 1.1 * y + 18.0 * random.normal();
        area.push(written(a, 1));
        age.push(y);
        price.push(written(if last { paid / 10.0 } else { paid }, 1));
    }
    table("price", vec![("area", area), ("age", age), ("price", price)])
}

fn separated_classes() -> SampleData {
    let mut random = Random::new(6);
    let (mut ph, mut heat, mut result) = (vec![], vec![], vec![]);
    for i in 0..80 {
        let passed = i % 2 == 0;
        let acid = if passed { random.between(4.0, 6.8) } else { random.between(7.1, 9.5) };
        ph.push(written(acid, 2));
        heat.push(written(random.between(15.0, 25.0), 1));
        result.push(if passed { "passed" } else { "failed" });
    }
    SampleData::Table {
        columns: vec![
            ("ph", SampleColumn::Numbers(ph)),
            ("heat", SampleColumn::Numbers(heat)),
            ("result", SampleColumn::Words(result)),
        ],
        target: "result",
    }
}

/// Heads, queries and keys, width.
const SHAPE: [usize; 4] = [1, 2, 96, 16];

fn normals(random: &mut Random, size: f64) -> Vec<f64> {
    let count = SHAPE.iter().product();
    (0..count).map(|_| written(size * random.normal(), 6)).collect()
}

fn saturated_attention() -> SampleData {
    let mut random = Random::new(7);
    let root = 30_f64.sqrt();
    let (q, k) = (normals(&mut random, root), normals(&mut random, root));
    SampleData::Attention { shape: SHAPE, q, k, v: normals(&mut random, 1.0) }
}

fn collinear_values() -> SampleData {
    let mut random = Random::new(8);
    let (q, k) = (normals(&mut random, 1.0), normals(&mut random, 1.0));
    let mut v = normals(&mut random, 1.0);
    let [_, _, keys, width] = SHAPE;
    let direction: Vec<f64> = (0..width).map(|_| random.normal()).collect();
    for row in v[keys * width..].chunks_exact_mut(width) {
        let along = 3.0 * random.normal();
        for (value, direction) in row.iter_mut().zip(&direction) {
            *value = written(along * direction + 0.01 * *value, 6);
        }
    }
    SampleData::Attention { shape: SHAPE, q, k, v }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_the_same_each_time_and_of_one_length() {
        for sample in SAMPLES {
            let data = sample.data();
            assert_eq!(data, sample.data());
            match data {
                SampleData::Table { columns, target } => {
                    assert!(columns.iter().any(|(name, _)| *name == target));
                    let lengths = columns.iter().map(|(_, column)| match column {
                        SampleColumn::Numbers(numbers) => numbers.len(),
                        SampleColumn::Words(words) => words.len(),
                    });
                    let lengths: Vec<usize> = lengths.collect();
                    assert!(lengths.iter().all(|&n| n == lengths[0]), "{lengths:?}");
                }
                SampleData::Attention { shape, q, k, v } => {
                    let size = shape.iter().product();
                    assert_eq!([q.len(), k.len(), v.len()], [size; 3]);
                }
            }
        }
    }

    #[test]
    fn a_sample_is_found_by_its_name() {
        assert_eq!(sample("outlier").map(|sample| sample.findings.len()), Some(1));
        assert_eq!(sample("nothing"), None);
    }
}
