//! The table of choices: against every op, and against limits that forbid what it would choose.

use super::*;
use crate::ops::Gradient;

fn kernel(groups: u64, threads: u32) -> Kernel {
    Kernel {
        module: "",
        entry: "",
        tile: None,
        settings: vec![],
        binds: vec![],
        groups,
        threads,
        memory: 0,
        matrix: None,
    }
}

/// A layer's op, the gradient of its input and that of its weights.
fn layer(forward: Op) -> [Op; 3] {
    let Some(Gradient::Steps(steps)) = forward.gradient(0) else { panic!("{forward:?} is no layer") };
    [forward, steps[1].op, steps[0].op]
}

/// Ops at sizes of the paper's networks and of toys, and empty ones.
fn ops() -> Vec<Op> {
    use crate::ops::{conv::*, linear::*, norm::*};
    use bytemuck::Zeroable;
    let mut all = crate::ops::all();
    for (batch, side, c_in, c_out, stride) in [
        (128, 32, 3, 64, 1),
        (128, 32, 16, 16, 1),
        (128, 32, 16, 32, 2),
        (128, 8, 384, 256, 1),
        (1, 1, 1, 1, 1),
        (7, 9, 5, 33, 3),
        (100_000, 64, 64, 1024, 1),
    ] {
        let out = (side + 2 - 3) / stride + 1;
        let sizes = Conv2dForward { replicas: 1, share: 1, batch, h: side, w: side, c_in, c_out, ..Zeroable::zeroed() };
        all.extend(layer(Op::Conv2dForward(Conv2dForward {
            out_h: out,
            out_w: out,
            kernel_h: 3,
            kernel_w: 3,
            stride,
            ..sizes
        })));
        let (images, pixels, c) = (batch, out * out, c_out);
        all.push(Op::BatchNormStats(BatchNormStats { replicas: 1, images, pixels, c, ..Zeroable::zeroed() }));
        all.push(Op::BatchNormSums(BatchNormSums { replicas: 1, images, pixels, c, ..Zeroable::zeroed() }));
    }
    all.extend(fused());
    for (replicas, rows, n_in, n_out) in
        [(5, 100, 50, 50), (1, 128, 1024, 20), (1, 1, 1, 1), (3, 5000, 3, 2), (1, 8192, 1024, 1024), (1, 8192, 16, 16)]
    {
        let forward = LinearForward { replicas, share: 1, rows, n_in, n_out, ..Zeroable::zeroed() };
        all.extend(layer(Op::LinearForward(forward)));
    }
    all
}

/// Those that join a convolution with what stands about it, both passes.
fn fused() -> Vec<Op> {
    use crate::ops::{normed::*, pooled::*};
    use bytemuck::Zeroable;
    let mut all = vec![];
    for (side, c_in, c_out, stride) in [(32, 4, 64, 1), (32, 16, 16, 1), (32, 16, 32, 2), (8, 384, 256, 1)] {
        macro_rules! of {
            ($op:ident) => {
                $op {
                    replicas: 1,
                    share: 1,
                    batch: 128,
                    h: side,
                    w: side,
                    c_in,
                    out_h: side / stride,
                    out_w: side / stride,
                    c_out,
                    kernel_h: 3,
                    kernel_w: 3,
                    stride,
                    ..Zeroable::zeroed()
                }
            };
        }
        let backward = NormConvBackward { normed: 1, ..of!(NormConvBackward) };
        all.extend([Op::NormConvForward(of!(NormConvForward)), Op::NormConvBackward(backward)]);
        all.extend([Op::ConvPoolForward(of!(ConvPoolForward)), Op::ConvPoolBackward(of!(ConvPoolBackward))]);
    }
    all
}

/// Limits from none to spare down to less than any tile needs.
fn limits() -> Vec<wgpu::Limits> {
    let default = wgpu::Limits::default();
    vec![
        wgpu::Limits { max_compute_workgroup_storage_size: 1 << 16, ..default.clone() },
        wgpu::Limits { max_compute_workgroup_storage_size: 8192, ..default.clone() },
        wgpu::Limits { max_compute_invocations_per_workgroup: 64, ..default.clone() },
        wgpu::Limits { max_compute_workgroup_size_x: 128, max_storage_buffers_per_shader_stage: 4, ..default.clone() },
        wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..default.clone() },
        wgpu::Limits { max_compute_workgroups_per_dimension: 16, ..default.clone() },
        default,
    ]
}

/// Of every op: software adapters get the plain form; hardware a form that the op has and the adapter can run.
#[test]
fn the_choice_stays_within_the_limits() {
    let mut chosen = std::collections::BTreeSet::new();
    for op in ops() {
        for limits in limits() {
            assert_eq!(choose(&op, Class::Software, &limits), Variant::Plain, "{op:?}");
            let variant = choose(&op, Class::Hardware, &limits);
            let form = form(&op, variant, most_bytes(&limits)).expect("a variant that the op has");
            assert!(variant == Variant::Plain || beyond(&form, &limits).is_none(), "{op:?} {variant:?} {limits:?}");
            chosen.insert((op.name(), variant));
        }
    }
    let forms = |name: &str| chosen.iter().filter(|(n, _)| *n == name).count();
    for op in crate::ops::all() {
        let least = match op.forms() {
            Forms::Plain | Forms::Shared | Forms::Resident => 1,
            Forms::SplitSums { .. } => 2,
            Forms::Tiled { .. } | Forms::SplitGradient { .. } | Forms::Fused { .. } => 3,
        };
        assert!(forms(op.name()) >= least, "{}: {chosen:?}", op.name());
    }
}

/// Of the networks of the paper, on hardware of default limits.
#[test]
fn known_layers_get_known_forms() {
    let default = wgpu::Limits::default();
    let chosen: Vec<_> = ops()
        .iter()
        .filter(|op| op.product().is_some_and(|p| p.k * p.m > 0))
        .map(|op| (op.name(), choose(op, Class::Hardware, &default).name()))
        .collect();
    // AlexNet's first convolution, PreResNet's first stage and its first strided one.
    let three = |at: usize| chosen[5 * at..5 * at + 3].iter().map(|c| c.1).collect::<Vec<_>>();
    assert_eq!(three(0), ["64x64", "plain", "32x32"], "{chosen:?}");
    assert_eq!(three(1), ["64x16", "64x16", "64x16"]);
    assert_eq!(three(2), ["32x32", "64x16", "32x32"]);
    assert_eq!(three(3), ["128x64", "128x64", "128x64"]);
    assert_eq!(three(4), ["plain", "plain", "plain"]);
}

/// A scratch that no binding holds, a workgroup that does not fit: the number, the limit and a cure.
#[test]
fn what_does_not_fit_is_named() {
    let op = ops().into_iter().rfind(|op| matches!(op, Op::Conv2dBackwardWeight(_))).expect("it is there");
    let small = wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..wgpu::Limits::default() };
    let form = form(&op, Variant::Tile64x64, most_bytes(&small)).expect("a form");
    let (found, allowed, help) = beyond(&form, &small).expect("too large");
    assert_eq!(found, "conv2d_backward_weight_split needs 2363392 bytes of scratch memory");
    assert_eq!((allowed.as_str(), help), ("1048576 bytes per buffer", cure()));
    let small = wgpu::Limits { max_compute_workgroup_storage_size: 8192, ..wgpu::Limits::default() };
    let (found, allowed, _) = beyond(&form, &small).expect("too large");
    assert_eq!(found, "conv2d_backward_weight_split needs 10240 bytes of workgroup memory");
    assert_eq!(allowed, "8192");
}

/// As many parts as fill an adapter, never more than the sum is long or the memory holds.
#[test]
fn parts_are_bounded() {
    assert_eq!(parts((1, 256), 8192, 100, 1 << 30), 256);
    assert_eq!(parts((162, 256), 512, 100, 1 << 30), 4);
    assert_eq!(parts((162, 64), 512, 100, 1 << 30), 13, "smaller workgroups, more of them");
    assert_eq!(parts((1, 256), 8, 100, 1 << 30), 2);
    assert_eq!(parts((1, 256), 8192, 100, 550), 5);
    assert_eq!(parts((10_000, 64), 8192, 100, 1 << 30), 1);
    assert_eq!(parts((1, 64), 3, 100, 0), 1);
}

#[test]
fn grids_split_and_refuse() {
    assert_eq!(dispatch(&kernel(0, 64), 65_535), Some((0, 1)));
    assert_eq!(dispatch(&kernel(2, 64), 65_535), Some((2, 1)));
    let (x, y) = dispatch(&kernel(65_536, 64), 65_535).expect("fits");
    assert!(x <= 65_535 && y == 2 && x * y >= 65_536);
    assert_eq!(dispatch(&kernel(1 << 26, 64), 65_535), None);
    assert_eq!(dispatch(&kernel(1 << 24, 256), 65_535), None);
    assert_eq!(dispatch(&kernel(3, 64), 2), Some((2, 2)));
    assert_eq!(dispatch(&kernel(5, 64), 2), None);
}
