//! The command from outside: what it prints, what it writes, how it ends.

mod attend;
mod bad_inputs;
mod dependencies;
mod example;
mod explain;
mod fit;
mod fit_out;
mod harness;
mod help;
mod larger;
mod linear;
mod measure;
mod odd_cases;
mod project;
#[cfg(unix)]
mod readme;
mod sparse;
mod surroundings;
mod tables;
