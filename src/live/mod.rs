//! Training that is watched and steered while it runs: a named worker thread with its own device. Commands go down and
//! reports come up through bounded channels; what is large and soon stale (bands, maps, curves of a prior) lies in a slot that
//! holds only the latest. Does not depend on windows.

mod body;
#[cfg(test)]
mod bug_tests;
pub mod change;
pub mod group;
pub mod job;
pub mod lane;
pub mod picture;
mod speed;
#[cfg(test)]
mod walk_tests;
pub mod worker;

pub use change::{Effect, effect_of};
pub use group::{Group, LaneView};
pub use job::Job;
pub use lane::Points;
pub use picture::{Look, Picture};
pub use worker::{Command, Keep, Report, Snapshot, State, Worker};
