//! Proves of a recorded program, before it runs anywhere: every binding is there and long enough, no buffer is read
//! before it is written, none is both input and output of one step, bytes are read as bytes and nothing else is. A failure
//! is a bug of ours, reported in one line.

use super::{Element, Program, Role};
use crate::error::{Error, Result};
use crate::ops::Forms;

pub fn check(program: &Program) -> Result<()> {
    let bug = |i: usize, what: String| {
        Err(Error::run(format!("program step {i}"), what, "this is a bug of vifo: please report it with the recipe"))
    };
    for info in &program.buffers {
        if info.kind == Element::Bytes && info.role != Role::Input {
            return bug(0, format!("{} holds bytes and has the role {:?}", info.name, info.role));
        }
    }
    for (buf, values) in &program.constants {
        let sound = program
            .buffers
            .get(buf.0 as usize)
            .is_some_and(|info| info.role == Role::Input && info.kind == Element::Scalar && values.len() <= info.len);
        if !sound {
            return bug(0, format!("a constant of {} numbers does not fit its buffer", values.len()));
        }
    }
    let mut written: Vec<bool> = program.buffers.iter().map(|b| matches!(b.role, Role::Input | Role::State)).collect();
    for (i, step) in program.steps.iter().enumerate() {
        let name = step.op.name();
        if !step.op.sizes_agree() {
            return bug(i, format!("the sizes of {name} contradict each other: {:?}", step.op));
        }
        if step.op.forms() == Forms::Resident && program.steps.len() > 1 {
            return bug(i, format!("{name}, of which many steps run at once, stands among others"));
        }
        let (need_in, need_out) = step.op.lengths();
        if step.inputs.len() != need_in.len() || step.outputs.len() != need_out.len() {
            return bug(i, format!("{name} has {} + {} bindings", step.inputs.len(), step.outputs.len()));
        }
        for ((buf, need), operand) in step.inputs.iter().zip(need_in).zip(step.op.inputs()) {
            let info = program.info(*buf);
            let reads = match info.kind {
                Element::Scalar => !step.op.reads_bytes(),
                Element::Half => step.op.halves().contains(operand),
                Element::Bytes => step.op.reads_bytes(),
            };
            if !reads {
                return bug(i, format!("{name} does not read {:?} as {operand}, which {} holds", info.kind, info.name));
            }
            if info.len < need {
                return bug(i, format!("{name} reads {need} of {} ({})", info.name, info.len));
            }
            if !written[buf.0 as usize] {
                return bug(i, format!("{name} reads {} before it is written", info.name));
            }
            if step.outputs.contains(buf) {
                return bug(i, format!("{name} reads and writes {}", info.name));
            }
        }
        for (j, (buf, need)) in step.outputs.iter().zip(need_out).enumerate() {
            let info = program.info(*buf);
            if info.len < need {
                return bug(i, format!("{name} writes {need} of {} ({})", info.name, info.len));
            }
            let writes = match info.kind {
                Element::Half => step.op.halves().contains(&step.op.outputs()[j]),
                kind => kind == Element::Scalar,
            };
            if info.role == Role::Input || step.outputs[..j].contains(buf) || !writes {
                return bug(i, format!("{name} may not write {}", info.name));
            }
            written[buf.0 as usize] = true;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::ops::Op;
    use crate::ops::reduce::SumSquares;
    use crate::program::{Builder, Role};

    #[test]
    fn rejects_sizes_that_contradict() {
        use crate::ops::linear::LinearForward;
        let good = LinearForward {
            replicas: 2,
            share: 2,
            rows: 3,
            n_in: 2,
            n_out: 3,
            weight: 0,
            bias: 6,
            stride: 9,
            activation: 0,
        };
        for (op, sound) in [
            (good, true),
            (LinearForward { bias: 7, ..good }, false),
            (LinearForward { weight: 4, ..good }, false),
            (LinearForward { share: 0, ..good }, false),
        ] {
            assert_eq!(Op::LinearForward(op).sizes_agree(), sound, "{op:?}");
        }
    }

    /// Bytes where bytes are read and nowhere else, shards long enough, sizes within what the shader can number.
    #[test]
    fn bytes_are_read_as_bytes() {
        use crate::ops::images::GatherImages;
        let good = GatherImages {
            replicas: 1,
            n_rows: 5,
            shard_rows: 3,
            h: 2,
            w: 3,
            c: 1,
            batch: 2,
            out_rows: 2,
            ..bytemuck::Zeroable::zeroed()
        };
        let sound = |p: GatherImages, lens: [usize; 4], bytes: bool| {
            let mut b = Builder::new(1, 1);
            let images = lens.map(|n| if bytes { b.bytes("images", n) } else { b.buffer("x", n, Role::Input) });
            let out = b.buffer("out", 12, Role::Output);
            b.push(Op::GatherImages(p), &images, &[out]);
            b.finish()
        };
        let text = sound(good, [18, 12, 4, 4], true).expect("a sound program").to_string();
        assert!(text.starts_with("out[12] <- gather_images(images[18 u8], images[12 u8], images[4 u8], "), "{text}");
        assert!(sound(good, [18, 12, 4, 4], false).is_err(), "scalars");
        for lens in [[17, 12, 4, 4], [18, 11, 4, 4]] {
            assert!(sound(good, lens, true).is_err(), "{lens:?}");
        }
        for wrong in [
            GatherImages { shard_rows: 1, ..good },
            GatherImages { shard_rows: 0, ..good },
            GatherImages { n_rows: 0, ..good },
            GatherImages { batch: 3, ..good },
            GatherImages { c: 2, ..good },
            GatherImages { w: 0, ..good },
            GatherImages { crop: 1 << 16, ..good },
        ] {
            assert!(sound(wrong, [60; 4], true).is_err(), "{wrong:?}");
        }
        let mut b = Builder::new(1, 1);
        let (v, s) = (b.bytes("v", 6), b.buffer("s", 2, Role::Output));
        b.push(Op::SumSquares(SumSquares { replicas: 2, stride: 3, first: 0, length: 3 }), &[v], &[s]);
        assert!(b.finish().is_err(), "a sum of bytes");
        let mut b = Builder::new(1, 1);
        let v = b.bytes("v", 6);
        b.keep(v);
        assert!(b.finish().is_err(), "bytes are never read back");
    }

    #[test]
    fn rejects_what_is_wrong() {
        let op = Op::SumSquares(SumSquares { replicas: 2, stride: 3, first: 0, length: 3 });
        for (len, role, out, good) in [
            (6, Role::Input, 2, true),
            (5, Role::Input, 2, false),
            (6, Role::Input, 1, false),
            (6, Role::Scratch, 2, false),
        ] {
            let mut b = Builder::new(1, 1);
            let v = b.buffer("v", len, role);
            let s = b.buffer("s", out, Role::Output);
            b.push(op, &[v], &[s]);
            assert_eq!(b.finish().is_ok(), good, "{len} {role:?} {out}");
        }
        let mut b = Builder::new(1, 1);
        let v = b.buffer("v", 6, Role::State);
        b.push(op, &[v], &[v]);
        assert!(b.finish().is_err(), "in place");
    }
}
