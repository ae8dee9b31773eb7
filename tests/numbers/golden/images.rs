//! the reference kernels of image networks against PyTorch in f64: the rows of tests/golden/layers.json that layers.rs leaves to
//! this file. PyTorch's arrays are NCHW and OIHW; ours are NHWC and [kh * kw * c_in, c_out]. In f64 a reference kernel must meet the
//! golden number to 1e-9 of its array's largest element, in f32 to the running-error bound that the same kernel derives
//! (common/bounded.rs); a bound wider than 2 % of its array fails.

use crate::common::bounded::Bounded;
use crate::common::golden::{Check, compare_f64, golden, judge, numbers, poison, reals, verdict, witnesses};
use serde_json::Value;
use vifo::base::Real;
use vifo::ops::conv::*;
use vifo::ops::norm::*;
use vifo::ops::pool::*;
use vifo::ops::{OpSpec, StepArgs};

// ---- reading ----

fn shape(v: &Value) -> [usize; 4] {
    let sizes: Vec<usize> =
        v["shape"].as_array().expect("a shape").iter().map(|n| n.as_u64().expect("a size") as usize).collect();
    sizes.try_into().expect("four sizes")
}

/// The axes of `values` in the order of `axes`: element (.., i_axes[k], ..) moves to place k.
fn permuted<T: Copy>(values: &[T], sizes: [usize; 4], axes: [usize; 4]) -> Vec<T> {
    let strides = [sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1];
    let mut out = Vec::with_capacity(values.len());
    for i in 0..sizes[axes[0]] {
        for j in 0..sizes[axes[1]] {
            for k in 0..sizes[axes[2]] {
                for l in 0..sizes[axes[3]] {
                    out.push(
                        values
                            [i * strides[axes[0]] + j * strides[axes[1]] + k * strides[axes[2]] + l * strides[axes[3]]],
                    );
                }
            }
        }
    }
    out
}

/// NCHW -> NHWC.
const TO_NHWC: [usize; 4] = [0, 2, 3, 1];
/// OIHW -> HWIO.
const TO_HWIO: [usize; 4] = [2, 3, 1, 0];

/// A golden array in our order, as the reference kernel's scalar.
fn ours<T: Real>(v: &Value, axes: [usize; 4]) -> Vec<T> {
    reals(permuted(&numbers(v), shape(v), axes))
}

fn check<T>(name: &'static str, found: Vec<T>, golden: &Value, axes: [usize; 4]) -> Check<T> {
    Check { name: name.into(), found, golden: permuted(&numbers(golden), shape(golden), axes) }
}

// ---- the reference kernels ----

// Long: the loops of a convolution, written out.
fn conv2d<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [batch, c_in, h, w] = shape(&row["x"]).map(|n| n as u32);
    let [_, c_out, out_h, out_w] = shape(&row["y"]).map(|n| n as u32);
    let [_, _, kernel_h, kernel_w] = shape(&row["weight"]).map(|n| n as u32);
    let attr = |v: &Value| v.as_u64().expect("a whole number") as u32;
    let stride = attr(&row["attrs"]["stride"]);
    let pads = &row["attrs"]["pad_left_right_top_bottom"];
    let (pad_left, pad_top) = (attr(&pads[0]), attr(&pads[2]));
    let mut weights: Vec<T> = ours(&row["weight"], TO_HWIO);
    let bias = weights.len() as u32;
    weights.extend(reals::<T>(numbers(&row["bias"])));
    let weights_stride = weights.len() as u32;
    let (x, dy): (Vec<T>, Vec<T>) = (ours(&row["x"], TO_NHWC), ours(&row["dy"], TO_NHWC));

    let f = Conv2dForward {
        replicas: 1,
        share: 1,
        batch,
        h,
        w,
        c_in,
        out_h,
        out_w,
        c_out,
        kernel_h,
        kernel_w,
        stride,
        pad_top,
        pad_left,
        weight: 0,
        bias,
        has_bias: 1,
        weights_stride,
        activation: 0,
    };
    let mut y = poison(dy.len());
    conv2d_forward(&f, &x, &weights, &mut y, &mut poison(1), &mut poison(f.scratch()));
    let d = Conv2dBackwardData {
        replicas: 1,
        batch,
        h,
        w,
        c_in,
        out_h,
        out_w,
        c_out,
        kernel_h,
        kernel_w,
        stride,
        pad_top,
        pad_left,
        weight: 0,
        weights_stride,
        activation: 0,
    };
    let mut dx = poison(x.len());
    conv2d_backward_data(&d, &dy, &weights, &poison(1), &mut dx, &mut poison(d.scratch()));
    let g = Conv2dBackwardWeight {
        replicas: 1,
        share: 1,
        batch,
        h,
        w,
        c_in,
        out_h,
        out_w,
        c_out,
        kernel_h,
        kernel_w,
        stride,
        pad_top,
        pad_left,
        weight: 0,
        bias,
        has_bias: 1,
        weights_stride,
    };
    let mut grad = poison(weights.len());
    conv2d_backward_weight(&g, &x, &dy, &mut grad, &mut poison(g.scratch()));
    let dbias = grad.split_off(bias as usize);
    vec![
        check("y", y, &row["y"], TO_NHWC),
        check("dx", dx, &row["dx"], TO_NHWC),
        check("dweight", grad, &row["dweight"], TO_HWIO),
        Check { name: "dbias".into(), found: dbias, golden: numbers(&row["dbias"]) },
    ]
}

fn max_pool2<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [images, c, h, w] = shape(&row["x"]).map(|n| n as u32);
    let (x, dy): (Vec<T>, Vec<T>) = (ours(&row["x"], TO_NHWC), ours(&row["dy"], TO_NHWC));
    let (mut y, mut dx) = (poison(dy.len()), poison(x.len()));
    max_pool2_forward(&MaxPool2Forward { images, h, w, c }, &x, &mut y);
    max_pool2_backward(&MaxPool2Backward { images, h, w, c, activation: 0 }, &x, &dy, &poison(1), &mut dx);
    vec![check("y", y, &row["y"], TO_NHWC), check("dx", dx, &row["dx"], TO_NHWC)]
}

fn avg_pool<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [images, c, h, w] = shape(&row["x"]).map(|n| n as u32);
    let size = row["attrs"]["size"].as_u64().expect("a size") as u32;
    let (x, dy): (Vec<T>, Vec<T>) = (ours(&row["x"], TO_NHWC), ours(&row["dy"], TO_NHWC));
    let (mut y, mut dx) = (poison(dy.len()), poison(x.len()));
    avg_pool_forward(&AvgPoolForward { images, h, w, c, size }, &x, &mut y);
    avg_pool_backward(&AvgPoolBackward { images, h, w, c, size, activation: 0 }, &dy, &poison(1), &mut dx);
    vec![check("y", y, &row["y"], TO_NHWC), check("dx", dx, &row["dx"], TO_NHWC)]
}

fn batch_norm<T: Real>(row: &Value) -> Vec<Check<T>> {
    let [images, c, h, w] = shape(&row["x"]).map(|n| n as u32);
    let (pixels, data_images, n) = (h * w, images, c as usize);
    let eps = row["attrs"]["eps"].as_f64().expect("eps") as f32;
    let (x, dy): (Vec<T>, Vec<T>) = (ours(&row["x"], TO_NHWC), ours(&row["dy"], TO_NHWC));
    let weights: Vec<T> = reals([numbers(&row["gamma"]), numbers(&row["beta"])].concat());
    let args = StepArgs { n_valid: images, ..Default::default() };

    let p = BatchNormStats {
        replicas: 1,
        images,
        data_images,
        pixels,
        c,
        running: 0,
        running_stride: 2 * c,
        eps,
        momentum: 0.1,
    };
    let mut stats = poison(4 * n);
    batch_norm_stats(&p, &args, &x, &mut stats, &mut vec![T::zero(); 2 * n], &mut poison(p.scratch()));
    let (gamma, beta, weights_stride, activation) = (0, c, 2 * c, 0);
    let p = BatchNormForward { replicas: 1, images, data_images, pixels, c, gamma, beta, weights_stride, activation };
    let mut y = poison(x.len());
    batch_norm_forward(&p, &x, &stats, &weights, &mut y);
    let p = BatchNormSums { replicas: 1, images, data_images, pixels, c, gamma, beta, weights_stride, activation };
    let (mut sums, mut grad) = (poison(4 * n), poison(2 * n));
    batch_norm_sums(&p, &args, &x, &y, &dy, &stats, &mut sums, &mut grad, &mut poison(p.scratch()));
    let p = BatchNormBackward { replicas: 1, images, data_images, pixels, c, gamma, weights_stride, activation };
    let mut dx = poison(x.len());
    batch_norm_backward(&p, &args, &x, &y, &dy, &stats, &sums, &weights, &mut dx);
    let dbeta = grad.split_off(n);
    vec![
        check("y", y, &row["y"], TO_NHWC),
        check("dx", dx, &row["dx"], TO_NHWC),
        Check { name: "dgamma".into(), found: grad, golden: numbers(&row["dgamma"]) },
        Check { name: "dbeta".into(), found: dbeta, golden: numbers(&row["dbeta"]) },
    ]
}

// ---- the verdict ----

#[test]
fn image_layers_meet_pytorch() {
    verdict(
        "layers",
        "layer",
        |layer, row| {
            Some(match layer {
                "conv2d" => witnesses!(conv2d, row),
                "max_pool2" => witnesses!(max_pool2, row),
                "avg_pool" => witnesses!(avg_pool, row),
                "batch_norm_train" => witnesses!(batch_norm, row),
                // Of layers.rs.
                "linear" | "relu" | "silu" => return None,
                other => panic!("unknown layer {other}"),
            })
        },
        &[("avg_pool", 1), ("batch_norm_train", 1), ("conv2d", 5), ("max_pool2", 2)],
        4767,
    );
}

// ---- the harness itself ----

#[test]
fn the_order_of_axes_is_right() {
    // [1, 2, 1, 3]: channel 0 holds 0 1 2, channel 1 holds 10 11 12.
    assert_eq!(permuted(&[0, 1, 2, 10, 11, 12], [1, 2, 1, 3], TO_NHWC), [0, 10, 1, 11, 2, 12]);
    // Two outputs, one input, a row of two taps.
    assert_eq!(permuted(&[0, 1, 10, 11], [2, 1, 1, 2], TO_HWIO), [0, 10, 1, 11]);
}

#[test]
fn wrong_numbers_are_rejected() {
    let verdict = |f64s: f64, f32s: f32, error: f64| {
        let golden = || vec![2.0, 0.5];
        let bounded = |value| {
            let mut b = Bounded::exact(value);
            b.error = error;
            b
        };
        judge(
            "row",
            &Check { name: "a".into(), found: vec![f64s, 0.5], golden: golden() },
            &Check { name: "a".into(), found: vec![f32s, 0.5], golden: golden() },
            &Check { name: "a".into(), found: vec![bounded(2.0), bounded(0.5)], golden: golden() },
        )
    };
    assert!(verdict(2.0, 2.0, 1e-7).is_ok());
    assert!(verdict(2.0 + 1e-9, 2.0, 1e-7).is_ok_and(|[used, ..]| used > 0.4 && used < 0.6));
    for (f64s, f32s, error, why) in [
        (2.0 + 1e-8, 2.0, 1e-7, "f64"),
        (-2.0, 2.0, 1e-7, "the sign"),
        (f64::NAN, 2.0, 1e-7, "NaN in f64"),
        (f64::INFINITY, 2.0, 1e-7, "infinity in f64"),
        (2.0, 2.00001, 1e-7, "f32"),
        (2.0, f32::NAN, 1e-7, "NaN in f32"),
        (2.0, 2.0, 0.1, "a bound of 5 % of the scale"),
        (2.0, 2.0, f64::INFINITY, "no bound"),
        (2.0, 2.0, f64::NAN, "no bound"),
    ] {
        assert!(verdict(f64s, f32s, error).is_err(), "{why}");
    }
    assert!(compare_f64("short", &[1.0], &[1.0, 2.0]).is_err());
    assert!(compare_f64("empty", &[], &[]).is_err());
    assert!(compare_f64("golden NaN", &[f64::NAN], &[f64::NAN]).is_err());
}

/// A reference kernel that takes rows for columns does not pass: the golden rows can tell.
#[test]
fn a_wrong_layout_is_seen() {
    let row = golden("layers").into_iter().find(|r| r["layer"] == "conv2d").expect("a convolution");
    let right = conv2d::<f64>(&row);
    let mut wrong = row.clone();
    let turned = permuted(&numbers(&row["weight"]), shape(&row["weight"]), [0, 1, 3, 2]);
    wrong["weight"]["data"] = turned.into();
    let found = conv2d::<f64>(&wrong);
    assert!(compare_f64("y", &right[0].found, &right[0].golden).is_ok());
    assert!(compare_f64("y", &found[0].found, &right[0].golden).is_err());
}
