//! What the file holds. How it behaves is tested in a browser, in `tests/browser`.

use super::*;
use spanwise_lens::explain::specimen;

fn pages() -> [String; 2] {
    [page_html(&specimen::table()), page_html(&specimen::attention())]
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    for page in pages() {
        assert!(page.contains(POLICY));
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        for sign in ["http:", "https:", "src=\"//", "@import", "url("] {
            assert!(!outside.contains(sign), "{sign}");
        }
    }
}

#[test]
fn every_finding_figure_and_table_is_on_the_page_once() {
    for explanation in [specimen::table(), specimen::attention()] {
        let page = page_html(&explanation);
        assert_eq!(page.matches("<article class=\"finding").count(), explanation.findings.len());
        for figure in &explanation.figures {
            assert_eq!(page.matches(&format!("<figure id=\"figure-{}\"", figure.id)).count(), 1);
        }
        for table in &explanation.tables {
            assert_eq!(page.matches(&format!("id=\"table-{}\"", table.id)).count(), 1);
        }
        assert!(page.find("id=\"verdict\"") < page.find("id=\"findings\""));
        assert!(page.find("id=\"findings\"") < page.find("id=\"computation\""));
    }
}

#[test]
fn names_from_files_cannot_become_markup_or_script() {
    let hostile = "</script><img src=x onerror=alert(1)>\"'&";
    let mut explanation = specimen::table();
    explanation.verdict = vec![format!("`{hostile}`")];
    explanation.figures[0].title = hostile.to_owned();
    explanation.tables[0].columns[0].name = hostile.to_owned();
    explanation.findings[0].sentence = hostile.to_owned();
    explanation.computation.command = hostile.to_owned();
    for figure in &mut explanation.figures {
        if let spanwise_lens::explain::FigureKind::Coefficients(coefficients) = &mut figure.kind {
            coefficients.rows[0].name = hostile.to_owned();
        }
    }
    let page = page_html(&explanation);
    assert!(!page.contains("<img") && !page.contains(hostile));
    assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
}

#[test]
fn digits_that_are_not_certain_are_faint_and_copies_are_whole() {
    let page = page_html(&specimen::table());
    assert!(page.contains("data-value=\"12.512345678\">12.5123456<span class=\"unsure\">78</span>"));
    assert!(page.contains("data-value=\"0.412\"><span class=\"unsure\">0.412</span>"));
}

#[test]
fn pages_are_small() {
    for page in pages() {
        assert!(page.len() < 400_000, "{} bytes", page.len());
    }
}
