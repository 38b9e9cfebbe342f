//! The command from outside: what it prints, what it writes, how it ends.

mod agreement;
mod attend;
mod bad_inputs;
mod classes;
mod dependencies;
mod example;
mod explain;
mod files;
mod fit;
mod fit_out;
mod harness;
mod help;
mod larger;
mod left_out;
mod linear;
mod measure;
mod project;
#[cfg(unix)]
mod readme;
mod refused;
mod sample;
mod sparse;
mod surroundings;
mod tables;
mod text_tables;
