//! The program as its users run it: every verb, what it says when something is wrong, and what a stop or a crash leaves behind.
//! One binary for all, since linking each file to the whole library takes longer than running it.

mod calibrate;
mod compare;
mod devices;
mod errors;
mod first_try;
mod fit;
mod fuzz;
mod holdout;
mod images;
mod inspect;
mod levels;
mod newcomer;
mod reading;
mod readme;
mod recipes;
mod report;
mod reproduce;
mod reproduce_tables;
mod safety;
mod score;
mod slurm;
#[cfg(unix)]
mod stop_phases;
mod student;
mod sweep;
mod tables;
mod theory;
mod variants;
