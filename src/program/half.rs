//! Stores a recorded program's activations and their gradients in 16 bits, and hands matrix products a copy of the weights that is
//! rounded so; sums, weights, their gradient and what is kept of the optimizer stay f32. Most of what a step of a
//! convolutional network moves is then half as long.

use super::{Buf, BufferInfo, Element, Program, Role, Step};
use crate::ops::Op;
use crate::ops::average::RepeatWeights;

impl Program {
    pub fn has_halves(&self) -> bool {
        self.buffers.iter().any(|info| info.kind == Element::Half)
    }

    /// `count` = numbers in the weights of one replica, by which `weights` are copied.
    pub fn halve(&mut self, weights: Buf, count: u32) {
        self.copy_weights(weights, count);
        let mut allowed: Vec<bool> = self.buffers.iter().map(|b| b.role == Role::Scratch).collect();
        for step in &self.steps {
            let named = |bufs: &[Buf], operands: &[&'static str]| -> Vec<(Buf, &'static str)> {
                bufs.iter().copied().zip(operands.iter().copied()).collect()
            };
            let operands = [named(&step.inputs, step.op.inputs()), named(&step.outputs, step.op.outputs())].concat();
            for (buf, operand) in operands {
                allowed[buf.0 as usize] &= step.op.halves().contains(&operand);
            }
        }
        for (info, allowed) in self.buffers.iter_mut().zip(allowed) {
            if allowed && info.kind == Element::Scalar {
                info.kind = Element::Half;
            }
        }
    }

    /// Products read a copy of the weights, made before the first of them; nothing where all readers take halves.
    fn copy_weights(&mut self, weights: Buf, count: u32) {
        // A layer without an operand may have the weights in its place.
        let mut of_products: Vec<(usize, usize)> = vec![];
        let mut all_take_halves = true;
        for (i, step) in self.steps.iter().enumerate() {
            let takes = |operand: &&str| step.op.halves().contains(operand);
            for (place, (_, operand)) in
                step.inputs.iter().zip(step.op.inputs()).enumerate().filter(|(_, (b, _))| **b == weights)
            {
                all_take_halves &= takes(operand);
                of_products.extend(takes(operand).then_some((i, place)));
            }
            let written = step.outputs.iter().zip(step.op.outputs()).filter(|(b, _)| **b == weights);
            all_take_halves &= written.map(|(_, operand)| operand).all(takes);
        }
        let is_drawn = self.info(weights).role == Role::Scratch;
        let Some((first, _)) = of_products.first().copied().filter(|_| !(is_drawn && all_take_halves)) else {
            return;
        };
        let len = self.info(weights).len;
        let info = BufferInfo { name: "weights.half".into(), len, role: Role::Scratch, kind: Element::Scalar };
        self.buffers.push(info);
        let copy = Buf(self.buffers.len() as u32 - 1);
        for (step, place) in of_products {
            self.steps[step].inputs[place] = copy;
        }
        let members = (len / (count as usize).max(1)) as u32;
        let op = Op::RepeatWeights(RepeatWeights { members, samples: 1, count });
        self.steps.insert(first, Step { op, inputs: vec![weights], outputs: vec![copy] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::head::GaussianHead;
    use crate::program::builder::{LinearAt, Tensor};
    use crate::program::{Act, Builder};

    /// What lies between the layers is halved; data, outputs, weights and their gradient are not. Both passes read one copy of
    /// the weights.
    #[test]
    fn what_lies_between_layers_is_halved() {
        let mut b = Builder::new(1, 40);
        let (x, y) = (b.buffer("x", 15, Role::Input), b.buffer("targets", 5, Role::Input));
        let weights = b.buffer("weights", 40, Role::State);
        b.set_weights(weights);
        let at = |n_in, n_out, weight| LinearAt { n_in, n_out, weight, bias: weight + n_in * n_out };
        let h = b.linear("a", Tensor::input(x, 1, 5, (1, 1, 3)), at(3, 4, 0), Some(Act::Relu));
        let z = b.linear("b", h, at(4, 2, 16), None);
        let (terms, dz) = (b.buffer("terms", 15, Role::Scratch), b.buffer("dz", 10, Role::Scratch));
        let head = GaussianHead { replicas: 1, rows: 5, share: 1, noise_link: 0 };
        b.push(Op::GaussianHead(head), &[z.buf, y], &[terms, dz]);
        b.backward(z, dz);
        let mut program = b.finish().expect("a sound program");
        program.halve(weights, 40);
        super::super::check::check(&program).expect("a sound program");
        let halves: Vec<&str> =
            program.buffers.iter().filter(|b| b.kind == Element::Half).map(|b| b.name.as_str()).collect();
        assert_eq!(halves, ["a.y", "a.pre", "b.pre", "da.y", "weights.half"]);
        let text = program.to_string();
        assert!(text.starts_with("weights.half[40 f16] <- repeat_weights(weights[40])"), "{text}");
        assert_eq!(text.matches("weights.half").count(), 4, "{text}");
    }
}
