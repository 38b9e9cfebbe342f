//! The means that stand in for missing values, gathered batch by batch.

use super::{Column, Design, DesignError, Encoding};

/// Sums of a design's columns before products are formed, over the values that are there.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// Sum and its rounding error.
    sums: Vec<(f64, f64)>,
    /// Values there, one count per encoding.
    counts: Vec<u64>,
}

impl Means {
    /// Of no rows.
    pub fn new(design: &Design) -> Self {
        Means { sums: vec![(0.0, 0.0); design.base_width()], counts: vec![0; design.encodings().len()] }
    }

    /// Adds the rows of a batch.
    pub fn observe(&mut self, design: &Design, batch: &[Column<'_>]) -> Result<(), DesignError> {
        let rows = batch.first().map_or(0, |column| column.values.len());
        let mut at = 0;
        for (place, count) in design.places(batch)?.iter().zip(&mut self.counts) {
            let mut out = vec![0.0; place.encoding().width()];
            for row in 0..rows {
                if place.write(row, &mut out)?.is_none() {
                    *count += 1;
                    let sums = &mut self.sums[at..at + out.len()];
                    sums.iter_mut().zip(&out).for_each(|(sum, &value)| add(sum, value));
                }
            }
            at += out.len();
        }
        Ok(())
    }
}

impl Design {
    /// The design with these means in place of missing values. A column without a value has none.
    pub fn with_means(self, means: &Means) -> Result<Self, DesignError> {
        let mut all = Vec::with_capacity(means.sums.len());
        let mut sums = means.sums.iter();
        for (encoding, &count) in self.encodings.iter().zip(&means.counts) {
            if count == 0 {
                return Err(DesignError::AllMissing { column: encoding.name.clone() });
            }
            let own = sums.by_ref().take(Encoding::width(encoding));
            all.extend(own.map(|(sum, error)| (sum + error) / count as f64));
        }
        Ok(Design { means: Some(all), ..self })
    }
}

/// Two-sum: the rounding error of each addition is kept beside the sum.
fn add((sum, error): &mut (f64, f64), value: f64) {
    let total = *sum + value;
    let back = total - *sum;
    *error += (*sum - (total - back)) + (value - back);
    *sum = total;
}
