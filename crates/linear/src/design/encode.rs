//! A batch through a design.

use super::{Column, Design, DesignError, Encoding, Levels, Missing, Values, are_truths, truth};
use spanwise_kernels::Matrix;

/// Rows of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Kept rows × columns of the design.
    pub x: Matrix,
    /// Which rows of the batch were kept, rising.
    pub kept: Vec<usize>,
    /// How many values were missing and took the mean.
    pub filled: usize,
}

/// Where an encoding's values are in a batch.
pub(super) struct Place<'a> {
    encoding: &'a Encoding,
    index: usize,
    values: Values<'a>,
    /// For each code of the batch, the level of the design; where the design has numbers, the number.
    levels: Vec<Option<usize>>,
}

impl Design {
    /// The rows of a batch for which `wanted` holds, as numbers. Columns are found by name; others may be there too.
    pub fn encode(&self, batch: &[Column<'_>], wanted: impl Fn(usize) -> bool) -> Result<Rows, DesignError> {
        let places = self.places(batch)?;
        let width = self.base_width();
        let rows = batch.first().map_or(0, |column| column.values.len());
        let mut base = Vec::with_capacity(rows * width);
        let (mut kept, mut filled) = (Vec::with_capacity(rows), 0);
        for row in (0..rows).filter(|&row| wanted(row)) {
            let start = base.len();
            base.resize(start + width, 0.0);
            match self.fill(&places, row, &mut base[start..])? {
                Some(count) => {
                    filled += count;
                    kept.push(row);
                }
                None => base.truncate(start),
            }
        }
        let x = Matrix::new(base, kept.len(), width).expect("as many numbers as rows times columns");
        let x = match &self.products {
            Some(products) => products.of(&x)?,
            None => x,
        };
        Ok(Rows { x, kept, filled })
    }

    pub(super) fn places<'a>(&'a self, batch: &[Column<'a>]) -> Result<Vec<Place<'a>>, DesignError> {
        self.encodings().iter().map(|encoding| Place::new(encoding, batch)).collect()
    }

    /// Writes one row and says how many values were filled; `None` where the row is left out.
    fn fill(&self, places: &[Place<'_>], row: usize, out: &mut [f64]) -> Result<Option<usize>, DesignError> {
        let (mut at, mut filled) = (0, 0);
        for place in places {
            let out = &mut out[at..at + place.encoding.width()];
            if let Some(value) = place.write(row, out)? {
                match self.missing {
                    Missing::Drop => return Ok(None),
                    Missing::Mean if self.means.is_some() => {
                        let means = self.means.as_deref().unwrap_or_default();
                        out.copy_from_slice(&means[at..at + out.len()]);
                        filled += 1;
                    }
                    Missing::Error | Missing::Mean => {
                        let column = place.encoding.name.clone();
                        return Err(DesignError::Missing { column, index: place.index, row, value });
                    }
                }
            }
            at += place.encoding.width();
        }
        Ok(Some(filled))
    }
}

impl<'a> Place<'a> {
    fn new(encoding: &'a Encoding, batch: &[Column<'a>]) -> Result<Self, DesignError> {
        let column = || encoding.name.clone();
        let index = batch.iter().position(|column| column.name == encoding.name);
        let index = index.ok_or_else(|| DesignError::NoColumn { column: column() })?;
        let values = batch[index].values;
        let levels = match (&encoding.levels, values) {
            (None, Values::Numbers(_)) => Vec::new(),
            (None, Values::Categories { levels, .. }) if are_truths(levels) => {
                levels.iter().map(|level| truth(level).map(usize::from)).collect()
            }
            (None, Values::Categories { .. }) => return Err(DesignError::NotNumbers { column: column() }),
            (Some(_), Values::Numbers(_)) => return Err(DesignError::NotCategories { column: column() }),
            (Some(known), Values::Categories { levels, .. }) => {
                levels.iter().map(|level| known.all.iter().position(|k| k == level)).collect()
            }
        };
        Ok(Place { encoding, index, values, levels })
    }

    /// Writes the value of `row`; where it is missing, returns what is there instead.
    pub(super) fn write(&self, row: usize, out: &mut [f64]) -> Result<Option<f64>, DesignError> {
        match self.values {
            Values::Numbers(numbers) if numbers[row].is_finite() => {
                out[0] = numbers[row];
                Ok(None)
            }
            Values::Numbers(numbers) => Ok(Some(numbers[row])),
            Values::Categories { codes, levels } => {
                let code = codes[row] as usize;
                let Some(&level) = self.levels.get(code) else { return Ok(Some(f64::NAN)) };
                let level = level.ok_or_else(|| DesignError::NewLevel {
                    column: self.encoding.name.clone(),
                    index: self.index,
                    row,
                    level: levels[code].clone(),
                })?;
                let Some(Levels { reference, .. }) = self.encoding.levels else {
                    out[0] = level as f64;
                    return Ok(None);
                };
                out.fill(0.0);
                if level != reference {
                    out[level - usize::from(level > reference)] = 1.0;
                }
                Ok(None)
            }
        }
    }

    pub(super) fn encoding(&self) -> &Encoding {
        self.encoding
    }
}
