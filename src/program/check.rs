//! Proves of a recorded program, before it runs anywhere: every binding is there and long enough, no buffer is read
//! before it is written, none is both input and output of one step, bytes are read as bytes and nothing else is. A failure
//! is a bug of ours, told in one line.

use super::{Element, Program, Role};
use crate::error::{Error, Result};
use crate::ops::Op;

/// Least lengths of the inputs and outputs of an op, in binding order.
pub fn lengths(op: &Op) -> (Vec<usize>, Vec<usize>) {
    let n = |v: &[u32]| v.iter().map(|&x| x as usize).product::<usize>();
    match op {
        Op::GatherRows(p) => (vec![n(&[p.sets(), p.n_rows, p.cols])], vec![n(&[p.replicas, p.out_rows, p.cols])]),
        Op::AuxInputs(p) => (vec![n(&[p.sets(), p.cols]); 2], vec![n(&[p.replicas, p.out_rows, p.cols])]),
        Op::LinearForward(p) => {
            let y = n(&[p.replicas, p.rows, p.n_out]);
            let pre = if p.activation == crate::ops::linear::ACT_SILU { y } else { 1 };
            (vec![n(&[p.replicas / p.share.max(1), p.rows, p.n_in]), n(&[p.replicas, p.stride])], vec![y, pre])
        }
        Op::LinearBackwardData(p) => {
            let dx = n(&[p.replicas, p.rows, p.n_in]);
            (
                vec![
                    n(&[p.replicas, p.rows, p.n_out]),
                    n(&[p.replicas, p.stride]),
                    if p.activation == 0 { 1 } else { dx },
                ],
                vec![dx],
            )
        }
        Op::LinearBackwardWeight(p) => (
            vec![n(&[p.replicas / p.share.max(1), p.rows, p.n_in]), n(&[p.replicas, p.rows, p.n_out])],
            vec![n(&[p.replicas, p.stride])],
        ),
        Op::Dropout(p) => (vec![n(&[p.replicas, p.count])], vec![n(&[p.replicas, p.count])]),
        Op::SoftmaxHead(p) => {
            let z = n(&[p.replicas, p.rows, p.k]);
            (vec![z, n(&[p.replicas / p.share.max(1), p.rows])], vec![n(&[p.replicas, p.rows, 3]), z])
        }
        Op::GaussianHead(p) => {
            let z = n(&[p.replicas, p.rows, 2]);
            (vec![z, n(&[p.replicas / p.share.max(1), p.rows])], vec![n(&[p.replicas, p.rows, 3]), z])
        }
        Op::ColumnMoments(p) => (vec![n(&[p.replicas, p.rows, 2, p.k])], vec![n(&[p.replicas, 6, p.k])]),
        Op::WeighedMoments(p) => (
            vec![n(&[p.replicas, p.rows, 2, p.k]), n(&[p.replicas / p.share.max(1), p.data_rows])],
            vec![n(&[p.replicas, 6, p.k])],
        ),
        Op::WeighRows(p) => (
            vec![n(&[p.replicas / p.share.max(1), p.data_rows])],
            vec![n(&[p.replicas, p.rows, 3]), n(&[p.replicas, p.rows, p.cols])],
        ),
        Op::VifoHead(p) => {
            let z = n(&[p.replicas, p.rows, 2, p.k]);
            let moments =
                if p.regularizer >= crate::ops::regularizer::REG_MEAN_ALL { n(&[p.replicas, 6, p.k]) } else { 1 };
            (vec![z, n(&[p.replicas / p.share.max(1), p.data_rows]), moments], vec![n(&[p.replicas, p.rows, 3]), z])
        }
        Op::LossReduce(p) => (
            vec![n(&[p.members, p.samples, p.rows, 3]), if p.has_extra == 1 { p.members as usize } else { 1 }],
            vec![p.members as usize * crate::ops::reduce::SUM_WORDS],
        ),
        Op::SumSquares(p) => (vec![n(&[p.replicas, p.stride])], vec![p.replicas as usize]),
        Op::L2Gradient(p) => (vec![n(&[p.replicas, p.stride])], vec![n(&[p.replicas, p.stride])]),
        Op::ViSample(p) => (vec![n(&[p.members, 2, p.count])], vec![n(&[p.members, p.samples, p.count])]),
        Op::ViRegularizer(p) => {
            (vec![n(&[p.members, 2, p.count])], vec![p.members as usize, n(&[p.members, p.groups])])
        }
        Op::ViGradient(p) => {
            let q = n(&[p.members, 2, p.count]);
            (vec![q, n(&[p.members, p.samples, p.count]), n(&[p.members, p.groups])], vec![q])
        }
        Op::Adam(p) => {
            let w = n(&[p.replicas, p.count]);
            (vec![w, 1], vec![w; 3])
        }
        Op::Sgd(p) => {
            let w = n(&[p.replicas, p.count]);
            (vec![w, 1], vec![w; 2])
        }
        Op::Conv2dForward(p) => {
            let y = n(&[p.replicas, p.batch, p.out_h, p.out_w, p.c_out]);
            let pre = if p.activation == crate::ops::linear::ACT_SILU { y } else { 1 };
            let x = n(&[p.replicas / p.share.max(1), p.batch, p.h, p.w, p.c_in]);
            (vec![x, n(&[p.replicas, p.weights_stride])], vec![y, pre])
        }
        Op::Conv2dBackwardData(p) => {
            let dx = n(&[p.replicas, p.batch, p.h, p.w, p.c_in]);
            let dy = n(&[p.replicas, p.batch, p.out_h, p.out_w, p.c_out]);
            let saved = if p.activation == 0 { 1 } else { dx };
            (vec![dy, n(&[p.replicas, p.weights_stride]), saved], vec![dx])
        }
        Op::Conv2dBackwardWeight(p) => {
            let x = n(&[p.replicas / p.share.max(1), p.batch, p.h, p.w, p.c_in]);
            let dy = n(&[p.replicas, p.batch, p.out_h, p.out_w, p.c_out]);
            (vec![x, dy], vec![n(&[p.replicas, p.weights_stride])])
        }
        Op::MaxPool2Forward(p) => (vec![n(&[p.images, p.h, p.w, p.c])], vec![n(&[p.images, p.h / 2, p.w / 2, p.c])]),
        Op::MaxPool2Backward(p) => {
            let x = n(&[p.images, p.h, p.w, p.c]);
            (vec![x, n(&[p.images, p.h / 2, p.w / 2, p.c]), if p.activation == 0 { 1 } else { x }], vec![x])
        }
        Op::AvgPoolForward(p) => {
            let k = p.size.max(1);
            (vec![n(&[p.images, p.h, p.w, p.c])], vec![n(&[p.images, p.h / k, p.w / k, p.c])])
        }
        Op::AvgPoolBackward(p) => {
            let (k, x) = (p.size.max(1), n(&[p.images, p.h, p.w, p.c]));
            (vec![n(&[p.images, p.h / k, p.w / k, p.c]), if p.activation == 0 { 1 } else { x }], vec![x])
        }
        Op::BatchNormStats(p) => {
            let x = n(&[p.replicas, p.images, p.pixels, p.c]);
            (vec![x], vec![n(&[p.replicas, 4, p.c]), n(&[p.replicas, p.running_stride])])
        }
        Op::BatchNormRunning(p) => (vec![n(&[p.replicas, p.running_stride])], vec![n(&[p.replicas, 4, p.c])]),
        Op::BatchNormForward(p) => {
            let x = n(&[p.replicas, p.images, p.pixels, p.c]);
            (vec![x, n(&[p.replicas, 4, p.c]), n(&[p.replicas, p.weights_stride])], vec![x])
        }
        Op::BatchNormSums(p) => {
            let (x, stats) = (n(&[p.replicas, p.images, p.pixels, p.c]), n(&[p.replicas, 4, p.c]));
            (vec![x, x, x, stats], vec![stats, n(&[p.replicas, p.weights_stride])])
        }
        Op::BatchNormBackward(p) => {
            let (x, stats) = (n(&[p.replicas, p.images, p.pixels, p.c]), n(&[p.replicas, 4, p.c]));
            (vec![x, x, x, stats, stats, n(&[p.replicas, p.weights_stride])], vec![x])
        }
        Op::Add(p) => (vec![p.count as usize; 2], vec![p.count as usize]),
        Op::SwaCollect(p) => (vec![n(&[p.replicas, p.count])], vec![n(&[p.replicas, p.count])]),
        Op::SwagCollect(p) => {
            let w = n(&[p.replicas, p.count]);
            (vec![w], vec![w, w, w * p.columns as usize])
        }
        Op::SwagSample(p) => {
            let w = n(&[p.members, p.count]);
            (vec![w, w, w * p.columns as usize], vec![w * p.samples as usize])
        }
        Op::RepeatWeights(p) => (vec![n(&[p.members, p.count])], vec![n(&[p.members, p.samples, p.count])]),
        Op::DirichletHead(p) => {
            let z = n(&[p.replicas, p.rows, p.k]);
            (vec![z, n(&[p.replicas / p.share.max(1), p.rows])], vec![n(&[p.replicas, p.rows, 3]), z])
        }
        Op::PairDistances(p) => (vec![n(&[p.replicas, p.count])], vec![n(&[p.replicas, p.group])]),
        Op::KernelWeights(p) => (vec![n(&[p.replicas, p.group])], vec![n(&[p.replicas, p.group + 1])]),
        Op::Repulsion(p) => {
            let v = n(&[p.replicas, p.count]);
            (vec![v, n(&[p.replicas, p.group + 1])], vec![v, p.replicas as usize])
        }
        Op::VbllForward(p) => {
            let x = n(&[p.replicas / p.share.max(1), p.rows, p.n_in]);
            (vec![x, n(&[p.replicas, p.stride])], vec![n(&[p.replicas, p.rows, 3, p.k])])
        }
        Op::VbllBackwardData(p) => {
            let (dx, dy) = (n(&[p.replicas, p.rows, p.n_in]), n(&[p.replicas, p.rows, 3, p.k]));
            (vec![dx, dy, n(&[p.replicas, p.stride]), if p.activation == 0 { 1 } else { dx }], vec![dx])
        }
        Op::VbllBackwardWeight(p) => {
            let x = n(&[p.replicas / p.share.max(1), p.rows, p.n_in]);
            let w = n(&[p.replicas, p.stride]);
            (vec![x, n(&[p.replicas, p.rows, 3, p.k]), w], vec![w])
        }
        Op::VbllHead(p) => {
            let y = n(&[p.replicas, p.rows, 3, p.k]);
            (vec![y, n(&[p.replicas / p.share.max(1), p.rows])], vec![n(&[p.replicas, p.rows, 3]), y])
        }
        Op::VbllRegularizer(p) => {
            let w = n(&[p.replicas, p.stride]);
            (vec![w], vec![w, p.replicas as usize])
        }
        Op::GatherImages(p) => {
            let shards = (0..crate::ops::images::SHARDS).map(|s| p.images_of(s) as usize * p.image_len());
            (shards.collect(), vec![n(&[p.replicas, p.out_rows, p.h, p.w, p.c])])
        }
    }
}

/// Every window has a size and a place.
fn windows_fit(s: &crate::ops::conv::Shape) -> bool {
    s.stride > 0
        && s.kernel_h > 0
        && s.kernel_w > 0
        && s.out_h > 0
        && s.out_w > 0
        && s.c_in > 0
        && s.c_out > 0
        && s.h > 0
        && s.w > 0
}

/// What the sizes of an op must satisfy among themselves, beyond the lengths of its buffers: the shaders run without
/// bounds checks and rest on it.
fn sizes_agree(op: &Op) -> bool {
    use crate::ops::head::LIKELIHOOD_GAUSSIAN;
    let within = |first: u32, len: u64, all: u32| u64::from(first) + len <= u64::from(all);
    let area = |a: u32, b: u32| u64::from(a) * u64::from(b);
    let shared = |replicas: u32, share: u32| share > 0 && replicas.is_multiple_of(share);
    match op {
        Op::GatherRows(p) => {
            p.batch <= p.out_rows
                && p.n_rows > 0
                && p.first_member.checked_div(p.per_set).is_none_or(|s| s >= p.first_set)
        }
        Op::AuxInputs(p) => {
            within(p.first_row, u64::from(p.count), p.out_rows)
                && p.first_member.checked_div(p.per_set).is_none_or(|s| s >= p.first_set)
        }
        Op::LinearForward(p) => {
            shared(p.replicas, p.share)
                && within(p.weight, area(p.n_in, p.n_out), p.stride)
                && within(p.bias, u64::from(p.n_out), p.stride)
        }
        Op::LinearBackwardData(p) => within(p.weight, area(p.n_in, p.n_out), p.stride),
        Op::LinearBackwardWeight(p) => {
            shared(p.replicas, p.share)
                && within(p.weight, area(p.n_in, p.n_out), p.stride)
                && within(p.bias, u64::from(p.n_out), p.stride)
        }
        Op::SoftmaxHead(p) => shared(p.replicas, p.share) && p.k > 0,
        Op::GaussianHead(p) => shared(p.replicas, p.share),
        Op::ColumnMoments(p) => p.data_rows <= p.rows && p.k > 0,
        Op::WeighedMoments(p) => shared(p.replicas, p.share) && p.data_rows <= p.rows && p.k > 0,
        Op::WeighRows(p) => shared(p.replicas, p.share) && p.data_rows <= p.rows,
        Op::VifoHead(p) => {
            shared(p.replicas, p.share)
                && p.data_rows <= p.rows
                && p.k > 0
                && (p.likelihood != LIKELIHOOD_GAUSSIAN || p.k == 2)
        }
        Op::LossReduce(p) => p.data_rows <= p.rows && p.samples > 0,
        Op::ViSample(p) => p.samples > 0,
        Op::ViRegularizer(p) => within(p.first, u64::from(p.length), p.count) && p.length > 0 && p.group < p.groups,
        Op::ViGradient(p) => {
            within(p.first, u64::from(p.length), p.count) && p.length > 0 && p.group < p.groups && p.samples > 0
        }
        Op::Conv2dForward(p) => {
            shared(p.replicas, p.share)
                && windows_fit(&p.shape())
                && within(p.weight, p.shape().weights(), p.weights_stride)
                && (p.has_bias == 0 || within(p.bias, u64::from(p.c_out), p.weights_stride))
        }
        Op::Conv2dBackwardData(p) => windows_fit(&p.shape()) && within(p.weight, p.shape().weights(), p.weights_stride),
        Op::Conv2dBackwardWeight(p) => {
            shared(p.replicas, p.share)
                && windows_fit(&p.shape())
                && within(p.weight, p.shape().weights(), p.weights_stride)
                && (p.has_bias == 0 || within(p.bias, u64::from(p.c_out), p.weights_stride))
        }
        Op::AvgPoolForward(p) => p.size > 0,
        Op::AvgPoolBackward(p) => p.size > 0,
        Op::BatchNormStats(p) => p.data_images <= p.images && within(p.running, area(2, p.c), p.running_stride),
        Op::BatchNormRunning(p) => within(p.running, area(2, p.c), p.running_stride),
        Op::BatchNormForward(p) => {
            p.data_images <= p.images
                && within(p.gamma, u64::from(p.c), p.weights_stride)
                && within(p.beta, u64::from(p.c), p.weights_stride)
        }
        Op::BatchNormSums(p) => {
            p.data_images <= p.images
                && within(p.gamma, u64::from(p.c), p.weights_stride)
                && within(p.beta, u64::from(p.c), p.weights_stride)
        }
        Op::BatchNormBackward(p) => p.data_images <= p.images && within(p.gamma, u64::from(p.c), p.weights_stride),
        Op::GatherImages(p) => {
            p.batch <= p.out_rows
                && p.n_rows > 0
                && u64::from(p.n_rows) <= crate::ops::images::SHARDS as u64 * u64::from(p.shard_rows)
                && p.h > 0
                && p.w > 0
                && matches!(p.c, 1 | 3)
                && p.crop < 1 << 16
        }
        Op::SwagCollect(p) => p.columns > 0,
        Op::SwagSample(p) => p.samples > 0,
        Op::RepeatWeights(p) => p.samples > 0,
        Op::DirichletHead(p) => shared(p.replicas, p.share) && p.k > 0,
        Op::PairDistances(p) => shared(p.replicas, p.group) && (p.cols == 0 || p.count.is_multiple_of(p.cols)),
        Op::KernelWeights(p) => shared(p.replicas, p.group) && p.group <= crate::ops::repulsion::MAX_PARTICLES,
        Op::Repulsion(p) => {
            shared(p.replicas, p.group) && p.n_rows > 0 && (p.cols == 0 || p.count.is_multiple_of(p.cols))
        }
        Op::VbllForward(p) => {
            shared(p.replicas, p.share)
                && within(p.mean, area(p.n_in, p.k), p.stride)
                && within(p.log_scale, area(p.n_in, p.k), p.stride)
                && within(p.log_noise, u64::from(p.k), p.stride)
        }
        Op::VbllBackwardData(p) => {
            within(p.mean, area(p.n_in, p.k), p.stride) && within(p.log_scale, area(p.n_in, p.k), p.stride)
        }
        Op::VbllBackwardWeight(p) => {
            shared(p.replicas, p.share)
                && within(p.mean, area(p.n_in, p.k), p.stride)
                && within(p.log_scale, area(p.n_in, p.k), p.stride)
                && within(p.log_noise, u64::from(p.k), p.stride)
        }
        Op::VbllHead(p) => shared(p.replicas, p.share) && p.k > 0 && (p.likelihood != LIKELIHOOD_GAUSSIAN || p.k == 1),
        Op::VbllRegularizer(p) => {
            p.n_rows > 0
                && within(p.mean, area(p.n_in, p.k), p.stride)
                && within(p.log_scale, area(p.n_in, p.k), p.stride)
                && within(p.log_noise, u64::from(p.k), p.stride)
        }
        Op::SwaCollect(_) => true,
        Op::MaxPool2Forward(_) | Op::MaxPool2Backward(_) | Op::Add(_) => true,
        Op::Dropout(p) => p.period > 0 || p.count == 0,
        Op::SumSquares(p) => within(p.first, u64::from(p.length), p.stride),
        Op::L2Gradient(p) => within(p.first, u64::from(p.length), p.stride),
        Op::Adam(_) | Op::Sgd(_) => true,
    }
}

pub fn check(program: &Program) -> Result<()> {
    let bug = |i: usize, what: String| {
        Err(Error::run(format!("program step {i}"), what, "this is a bug of vifo: please report it with the recipe"))
    };
    for info in &program.buffers {
        if info.kind == Element::Bytes && info.role != Role::Input {
            return bug(0, format!("{} holds bytes and has the role {:?}", info.name, info.role));
        }
    }
    let mut written: Vec<bool> = program.buffers.iter().map(|b| matches!(b.role, Role::Input | Role::State)).collect();
    for (i, step) in program.steps.iter().enumerate() {
        let name = step.op.name();
        if !sizes_agree(&step.op) {
            return bug(i, format!("the sizes of {name} contradict each other: {:?}", step.op));
        }
        let (need_in, need_out) = lengths(&step.op);
        if step.inputs.len() != need_in.len() || step.outputs.len() != need_out.len() {
            return bug(i, format!("{name} has {} + {} bindings", step.inputs.len(), step.outputs.len()));
        }
        let reads = if step.op.reads_bytes() { Element::Bytes } else { Element::Scalar };
        for (buf, need) in step.inputs.iter().zip(need_in) {
            let info = program.info(*buf);
            if info.kind != reads {
                return bug(i, format!("{name} reads {reads:?}, {} holds {:?}", info.name, info.kind));
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
            if info.role == Role::Input || step.outputs[..j].contains(buf) {
                return bug(i, format!("{name} may not write {}", info.name));
            }
            written[buf.0 as usize] = true;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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
            assert_eq!(sizes_agree(&Op::LinearForward(op)), sound, "{op:?}");
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
