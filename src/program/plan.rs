//! Memory of a program: scratch buffers whose lives do not overlap share a slot. Planned once, so a step allocates nothing.

use super::{Element, Program, Role};

#[derive(Debug, Clone, PartialEq)]
pub struct BufferPlan {
    /// Slot of each buffer of scalars; `usize::MAX` for bytes, whose place is the executor's own.
    pub slot: Vec<usize>,
    /// Elements of each slot, and what they are.
    pub slot_len: Vec<usize>,
    pub slot_kind: Vec<Element>,
}

/// First fit by order of birth. Buffers that outlive a step have a slot of their own.
pub fn plan(program: &Program) -> BufferPlan {
    let n = program.buffers.len();
    let (mut birth, mut death) = (vec![usize::MAX; n], vec![0; n]);
    for (i, step) in program.steps.iter().enumerate() {
        for buf in step.inputs.iter().chain(&step.outputs) {
            let b = buf.0 as usize;
            birth[b] = birth[b].min(i);
            death[b] = death[b].max(i);
        }
    }
    let (mut slot, mut slot_len, mut free_at): (_, Vec<usize>, Vec<usize>) = (vec![usize::MAX; n], vec![], vec![]);
    let mut slot_kind = vec![];
    let mut order: Vec<usize> = (0..n).filter(|&b| program.buffers[b].kind.is_number()).collect();
    order.sort_by_key(|&b| birth[b]);
    for b in order {
        let info = &program.buffers[b];
        let shareable = info.role == Role::Scratch && birth[b] != usize::MAX;
        // A slot is free once its last reader's step is over; among the free ones the best fit wastes least.
        let fit = (0..slot_len.len())
            .filter(|&s| shareable && free_at[s] <= birth[b] && slot_kind[s] == info.kind)
            .min_by_key(|&s| slot_len[s].abs_diff(info.len));
        let s = fit.unwrap_or_else(|| {
            slot_len.push(0);
            slot_kind.push(info.kind);
            free_at.push(0);
            slot_len.len() - 1
        });
        slot[b] = s;
        slot_len[s] = slot_len[s].max(info.len);
        free_at[s] = if shareable { death[b] + 1 } else { usize::MAX };
    }
    BufferPlan { slot, slot_len, slot_kind }
}

impl BufferPlan {
    pub fn elements(&self) -> usize {
        self.slot_len.iter().sum()
    }
    /// Bytes of all slots on a GPU.
    pub fn bytes(&self) -> u64 {
        self.slot_len.iter().zip(&self.slot_kind).map(|(len, kind)| *len as u64 * kind.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Op;
    use crate::ops::gather::Dropout;
    use crate::program::{Buf, Builder};

    #[test]
    fn bytes_take_no_slot() {
        let mut b = Builder::new(1, 1);
        b.buffer("x", 8, Role::Input);
        let bytes = b.bytes("images", 1000);
        b.buffer("y", 5, Role::Input);
        let plan = plan(&b.finish().expect("a sound program"));
        assert_eq!((plan.elements(), plan.slot[bytes.0 as usize]), (13, usize::MAX));
    }

    /// A chain of ten same-sized buffers needs two slots for the middle ones, one each for both ends.
    #[test]
    fn a_chain_needs_two_slots() {
        let mut b = Builder::new(1, 1);
        let op = Op::Dropout(Dropout {
            replicas: 1,
            count: 8,
            period: 8,
            stream: 0,
            first_replica: 0,
            rate: 0.1,
            by_step: 0,
        });
        let bufs: Vec<Buf> = (0..10)
            .map(|i| {
                b.buffer(
                    &format!("b{i}"),
                    8,
                    if i == 0 {
                        Role::Input
                    } else if i == 9 {
                        Role::Output
                    } else {
                        Role::Scratch
                    },
                )
            })
            .collect();
        for w in bufs.windows(2) {
            b.push(op, &[w[0]], &[w[1]]);
        }
        let program = b.finish().expect("a sound program");
        let plan = plan(&program);
        assert_eq!(plan.elements(), 4 * 8);
        for step in &program.steps {
            assert_ne!(plan.slot[step.inputs[0].0 as usize], plan.slot[step.outputs[0].0 as usize]);
        }
    }
}
