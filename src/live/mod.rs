//! Training that is watched and steered while it runs: a named worker thread with its own device. Commands go down and
//! reports come up through bounded channels; what is large and soon stale (bands, maps, curves of a prior) lies in a slot that
//! holds only the latest. Does not depend on windows.

mod body;
#[cfg(test)]
mod bug_tests;
pub mod change;
pub mod chore;
mod drive;
#[cfg(any(test, target_arch = "wasm32"))]
pub mod far;
pub mod group;
pub mod history;
pub mod job;
#[cfg(test)]
mod moment_tests;
pub mod network;
#[cfg(target_arch = "wasm32")]
mod office;
pub mod picture;
pub mod pieces;
mod shelf;
pub mod slot;
mod speed;
pub mod sweep;
mod timeline;
#[cfg(test)]
mod walk_tests;
pub mod watch;
pub mod worker;

pub use change::{Effect, effect_of};
pub use chore::Chore;
pub use group::{Group, SlotView};
pub use history::{History, Moment};
pub use job::Job;
pub use picture::{Picture, View};
pub use pieces::Pieces;
pub use slot::Points;
pub use timeline::held_out_nll;
pub use watch::Watch;
pub use worker::{Command, Keep, Snapshot, Worker, WorkerEvent, WorkerState, kept_in};
