//! Least squares against certified values, traps and properties.

mod certified;
mod extremes;
mod inference;
mod nist;
mod nist_data;
mod properties;
mod traps;
mod wide;
