//! The form of an op that runs many steps in a dispatch.

use super::{Form, NUMBER, Slot};
use crate::ops::Op;
use crate::ops::step::STEP_WORDS;

impl Form {
    /// A workgroup that reads the schedule itself.
    pub(super) fn resident(op: &Op, alone: bool) -> Form {
        let (threads, memory) = op.workgroup(alone);
        let mut settings = op.settings();
        settings.push(("THREADS", threads));
        let mut form = Form::of_threads(op, threads, 1, settings);
        for kernel in &mut form.kernels {
            kernel.memory = memory;
            kernel.binds.retain(|(slot, _)| *slot != Slot::Step);
            kernel.binds.extend([(Slot::Schedule, NUMBER * STEP_WORDS as u64), (Slot::Count, NUMBER)]);
        }
        form
    }
}
