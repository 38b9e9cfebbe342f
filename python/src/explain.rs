//! `spanwise.explain`: the library's explanations as text, JSON, HTML and figures.

use crate::array::{Array, Name, Stored};
use crate::attention::{Arrays, with_kind};
use crate::errors::{Class, OrRaise, raise, with_hint};
use crate::work;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spanwise::attend::Storage;
use spanwise::example::LessonError;
use spanwise::explain::{
    AttentionInput, Explanation as Inner, Severity, TableInput, Values,
    explain_attention as attention_explained, explain_table as table_explained,
};
use spanwise::linear::told::{Encoded, FitFacts, Label};
use spanwise::report::{Ink, Theme, explained_text, figure_svg, page_html, to_json};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Explanation>()?;
    module.add_function(wrap_pyfunction!(explain_table, module)?)?;
    module.add_function(wrap_pyfunction!(explain_attention, module)?)
}

/// What follows from data.
#[pyclass(module = "spanwise._spanwise", frozen)]
pub(crate) struct Explanation(pub(crate) Inner);

/// Name, severity, statement, advice, certificate, evidence by name, the id of its figure.
type Told = (
    &'static str,
    &'static str,
    String,
    Option<String>,
    Option<String>,
    Vec<(String, f64)>,
    Option<&'static str>,
);

#[pymethods]
impl Explanation {
    fn text(&self) -> String {
        explained_text(&self.0, &[], Ink::Plain)
    }

    fn json(&self) -> PyResult<String> {
        to_json(&self.0).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn html(&self) -> String {
        page_html(&self.0)
    }

    fn verdict(&self) -> Vec<String> {
        self.0.verdict.clone()
    }

    fn findings(&self) -> Vec<Told> {
        let told = self.0.findings.iter().map(|finding| {
            let severity = match finding.severity {
                Severity::Serious => "serious",
                Severity::Caution => "caution",
                Severity::Note => "note",
            };
            let evidence = finding.evidence.iter().map(|found| (found.name.clone(), found.value)).collect();
            let (advice, certificate) = (finding.advice.clone(), finding.certificate.clone());
            (finding.name, severity, finding.sentence.clone(), advice, certificate, evidence, finding.figure)
        });
        told.collect()
    }

    /// Ids and drawings.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let drawn = self.0.figures.iter().map(|figure| (figure.id, figure_svg(figure, Theme::Light)));
        drawn.collect()
    }
}

/// A function of Python that is told what is being done.
fn say(stage: Option<&Py<PyAny>>, text: &'static str) {
    if let Some(stage) = stage {
        // What it raises concerns nobody here: it only draws.
        Python::attach(|py| stage.call1(py, (text,)).ok());
    }
}

fn entry<'py>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<Bound<'py, PyAny>> {
    from.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("explain: there is no {key:?}")))
}

fn required<'py, T>(from: &Bound<'py, PyDict>, key: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    entry(from, key)?.extract()
}

fn table_name(argument: &'static str) -> Name {
    Name { operation: "explain", argument }
}

/// A table (n × d of f64) with its target: numbers (n, f64), or one word per row.
#[pyfunction]
fn explain_table<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: Option<&Bound<'py, PyAny>>,
    classes: Option<Vec<String>>,
    weights: Option<&Bound<'py, PyAny>>,
    facts: &Bound<'py, PyDict>,
    stage: Option<&Bound<'py, PyAny>>,
) -> PyResult<Explanation> {
    let x = Array::real(x, table_name("X"))?;
    let x = x.view::<f64>()?;
    let y = y.map(|y| Array::real(y, table_name("y"))).transpose()?;
    let y = y.as_ref().map(Array::slice).transpose()?;
    let weights = weights.map(|weights| Array::real(weights, table_name("weights"))).transpose()?;
    let weights = weights.as_ref().map(Array::slice).transpose()?;
    let labels: Option<Vec<Label>> = classes.map(|words| words.into_iter().map(Label).collect());
    let values = match (&labels, y) {
        (Some(labels), _) => Values::Classes(labels),
        (None, y) => Values::Numbers(y.unwrap_or_default()),
    };
    let encodings: Vec<(String, Vec<String>)> = required(facts, "encodings")?;
    let encodings = encodings.into_iter().map(|(column, levels)| Encoded {
        column,
        reference: levels.first().cloned().unwrap_or_default(),
        levels,
    });
    let index: Vec<u64> = required(facts, "index")?;
    let read: u64 = required(facts, "rows_read")?;
    let fit_facts = FitFacts {
        target: required(facts, "target")?,
        names: required(facts, "names")?,
        weights: weights.map(|_| "weights".to_owned()),
        intercept: required(facts, "intercept")?,
        confidence: required(facts, "confidence")?,
        encodings: encodings.collect(),
        rows_read: read,
        rows_dropped: read - (index.len() as u64).min(read),
        values_filled: required(facts, "filled")?,
        streamed: false,
        bits: f64::MANTISSA_DIGITS,
    };
    let source: String = required(facts, "source")?;
    let input = TableInput {
        source: &source,
        x,
        y: values,
        weights,
        index: Some(&index),
        facts: &fit_facts,
        command: "",
    };
    let stage = stage.map(|stage| stage.clone().unbind());
    let work = || table_explained(&input, &mut |text| say(stage.as_ref(), text));
    // The sample that is looked at in depth takes its time however few the numbers are.
    let found = work::fit(py, f64::INFINITY, work)?;
    Ok(Explanation(found.or_raise(py)?))
}

/// Queries, keys and values, as `attention` takes them.
#[pyfunction]
fn explain_attention<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    asked: Option<&Bound<'py, PyDict>>,
    bits: bool,
    stage: Option<&Bound<'py, PyAny>>,
) -> PyResult<Explanation> {
    let py = q.py();
    let arrays = Arrays::new([q, k, v], asked, bits)?;
    let stage = stage.map(|stage| stage.clone().unbind());
    with_kind!(py, arrays.kind(), T => heads::<T>(py, &arrays, stage.as_ref()))
}

fn heads<'py, T: Stored + Storage>(
    py: Python<'py>,
    arrays: &Arrays<'py>,
    stage: Option<&Py<PyAny>>,
) -> PyResult<Explanation> {
    // The problem's own errors name its arguments; what is left after it are errors of the explanation.
    let options = *arrays.problem::<T>(py)?.options();
    let (q, k, v) = (arrays.q.view::<T>()?, arrays.k.view::<T>()?, arrays.v.view::<T>()?);
    let input = AttentionInput { source: "q, k, v", q, k, v, options, command: "" };
    let work = || attention_explained(&input, &mut |text| say(stage, text));
    let found = work::watch(py, &arrays.asked.stop, work)?;
    found.map(Explanation).map_err(|error| {
        let class = match error {
            LessonError::Reached { .. } | LessonError::Overflow { .. } => Class::NotFinite,
            _ => Class::Number,
        };
        raise(py, class, with_hint(error.to_string(), error.hint()))
    })
}
