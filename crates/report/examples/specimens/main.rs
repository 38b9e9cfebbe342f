//! Writes pages and figures: made by hand or by formula with one figure of every kind, the same crowded, and explained from data.
//! `cargo run -p spanwise-report --example specimens -- DIRECTORY`; the browser tests open them.

mod crowded;
mod explained;

use spanwise_lens::explain::specimen;
use spanwise_report::{Theme, figure_svg, page_html};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory =
        PathBuf::from(std::env::args_os().nth(1).ok_or("specimens: give a directory to write to")?);
    std::fs::create_dir_all(&directory)?;
    let specimens =
        [("table", specimen::table()), ("attention", specimen::attention()), ("layers", specimen::layers()?)];
    for (name, explanation) in specimens {
        std::fs::write(directory.join(format!("{name}.html")), page_html(&explanation))?;
        for figure in &explanation.figures {
            let svg = figure_svg(figure, Theme::Light);
            std::fs::write(directory.join(format!("{name}-{}.svg", figure.id)), svg)?;
        }
        let crowded = crowded::crowded(explanation);
        std::fs::write(directory.join(format!("crowded-{name}.html")), page_html(&crowded))?;
    }
    for (name, explanation) in explained::all()? {
        std::fs::write(directory.join(format!("{name}.html")), page_html(&explanation))?;
    }
    Ok(())
}
