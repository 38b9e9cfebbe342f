//! The command from outside: what it prints, what it writes, how it ends.

mod attend;
mod bad_inputs;
mod example;
mod harness;
mod help;
#[cfg(unix)]
mod readme;
mod surroundings;
