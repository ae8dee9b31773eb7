//! Initial weights, from the same counters as everything random: a member's start depends on seed and member alone.

use super::{Layout, ViewKind};
use crate::base::rng::{Draw, Stream};
use std::f32::consts::PI;

fn draw(seed: u32, member: u32) -> Draw {
    Draw { seed, stream: Stream::Init as u32, step: 0, replica: member }
}

/// Where training without a distribution over weights starts: PyTorch's default, weights and biases uniform on
/// +-1/sqrt(fan_in); a network that says so has its convolutions at N(0, 2 / (k k out)) (MATH.md section 6, PreResNet);
/// batch normalisation starts as the identity; a variational last layer as MATH.md section 5 says: Wm ~ N(0, 1),
/// log sW ~ N(0, 1) - 1/2 log D with D inputs, log sn ~ N(-1, 1); a periodic embedding with frequencies N(0, 0.1^2), phases
/// uniform on +-pi, and the rest as PyTorch's default with its 16 cosines as inputs (MATH.md section 6); the d numbers of a
/// level uniform on +-1/sqrt(d).
pub fn torch_uniform(layout: &Layout, seed: u32, member: u32) -> Vec<f32> {
    let mut w = vec![0.0; layout.total];
    start(layout, &draw(seed, member), &mut w);
    w
}

const FREQUENCY_SD: f32 = 0.1;

fn start(layout: &Layout, draw: &Draw, w: &mut [f32]) {
    for view in &layout.views {
        let part = view.offset..view.offset + view.len();
        match view.kind {
            ViewKind::Gamma => w[part].fill(1.0),
            ViewKind::Beta => w[part].fill(0.0),
            ViewKind::VbllMean { .. } | ViewKind::LogScale { .. } | ViewKind::LogNoise => {
                let shift = match view.kind {
                    ViewKind::LogScale { .. } => -0.5 * libm::logf(view.fan_in() as f32),
                    ViewKind::LogNoise => -1.0,
                    _ => 0.0,
                };
                draw.fill_normal(view.offset as u32, &mut w[part.clone()]);
                w[part].iter_mut().for_each(|v| *v += shift);
            }
            ViewKind::Frequency => {
                draw.fill_normal(view.offset as u32, &mut w[part.clone()]);
                w[part].iter_mut().for_each(|v| *v *= FREQUENCY_SD);
            }
            ViewKind::Conv if layout.normal_convs => {
                let fan_out = view.len() / view.shape[1];
                let sd = (2.0 / fan_out as f32).sqrt();
                draw.fill_normal(view.offset as u32, &mut w[part.clone()]);
                w[part].iter_mut().for_each(|v| *v *= sd);
            }
            _ => {
                let bound = if view.kind == ViewKind::Phase { PI } else { 1.0 / (view.fan_in() as f32).sqrt() };
                for i in part {
                    w[i] = bound * (2.0 * draw.uniform(i as u32) - 1.0);
                }
            }
        }
    }
}

/// VI's start (MATH.md section 4): (mu, rho) with mu ~ N(0, 0.1^2) or as above, rho ~ N(init_rho, 0.1^2). The scale of a
/// batch normalisation has its mu around 1: around 0 no signal would pass. The phases of an embedding have theirs uniform on
/// +-pi: around 0 all cosines of an input would be alike.
pub fn variational(layout: &Layout, seed: u32, member: u32, uniform_mu: bool, init_rho: f32) -> Vec<f32> {
    let n = layout.total;
    let mut q = vec![0.0; 2 * n];
    draw(seed, member).fill_normal(0, &mut q);
    for (i, v) in q.iter_mut().enumerate() {
        *v = 0.1 * *v + if i < n { 0.0 } else { init_rho };
    }
    if uniform_mu {
        // Elements of their own, so that mu and rho stay independent.
        start(layout, &Draw { step: 1, ..draw(seed, member) }, &mut q[..n]);
    } else {
        for view in layout.views.iter().filter(|v| v.kind == ViewKind::Gamma) {
            q[view.offset..view.offset + view.len()].iter_mut().for_each(|v| *v += 1.0);
        }
        let uniform = Draw { step: 1, ..draw(seed, member) };
        for view in layout.views.iter().filter(|v| v.kind == ViewKind::Phase) {
            for (i, q) in q.iter_mut().enumerate().skip(view.offset).take(view.len()) {
                *q = PI * (2.0 * uniform.uniform(i as u32) - 1.0);
            }
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Places, PreResNet};

    /// MATH.md section 6: the largest convolution's sd within five standard errors of sqrt(2 / (9 * 64)); gamma 1, beta 0.
    #[test]
    fn preresnet_starts_at_he_and_the_identity() {
        let layout = PreResNet::paper(3, 10).layout();
        let w = torch_uniform(&layout, 1, 0);
        let part = |name: &str| {
            let v = layout.views.iter().find(|v| v.name == name).expect("a view");
            &w[v.offset..v.offset + v.len()]
        };
        let conv = part("l.8.c2.weight");
        let sd = (conv.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / conv.len() as f64).sqrt();
        let want = (2.0f64 / (9.0 * 64.0)).sqrt();
        assert!((sd / want - 1.0).abs() < 5.0 / (2.0 * conv.len() as f64).sqrt(), "{sd} {want}");
        assert!(part("l.0.b1.weight").iter().all(|v| *v == 1.0) && part("b.bias").iter().all(|v| *v == 0.0));
        let q = variational(&layout, 1, 0, false, -5.0);
        let v = layout.views.iter().find(|v| v.name == "l.8.b2.weight").expect("a view");
        let mean = q[v.offset..v.offset + v.len()].iter().sum::<f32>() / v.len() as f32;
        assert!((mean - 1.0).abs() < 5.0 * 0.1 / (v.len() as f32).sqrt());
    }

    /// Moments of each part of an embedding, within five standard errors; another member starts elsewhere. VI's normal start has
    /// the same phases' range.
    #[test]
    fn an_embedding_starts_as_the_page_says() {
        let mut places = Places::default();
        let at = places.periodic("embedding", 100);
        let layout = places.layout;
        assert_eq!((at.frequency, at.phase, at.weight, at.bias, layout.total), (0, 1600, 3200, 8000, 8300));
        let w = torch_uniform(&layout, 1, 0);
        let uniform = |bound: f64| (bound, bound / 3f64.sqrt());
        let wanted = [(f64::INFINITY, 0.1), uniform(std::f64::consts::PI), uniform(0.25), uniform(0.25)];
        let check = |w: &[f32], view: &crate::net::View, (bound, want): (f64, f64)| {
            let part: Vec<f64> = w[view.offset..][..view.len()].iter().map(|v| f64::from(*v)).collect();
            let n = part.len() as f64;
            let mean = part.iter().sum::<f64>() / n;
            let sd = (part.iter().map(|v| v.powi(2)).sum::<f64>() / n).sqrt();
            assert!(part.iter().all(|v| v.abs() <= bound + 1e-6), "{}", view.name);
            assert!(mean.abs() < 5.0 * want / n.sqrt(), "{}: {mean}", view.name);
            assert!((sd / want - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "{}: {sd}", view.name);
        };
        layout.views.iter().zip(wanted).for_each(|(view, wanted)| check(&w, view, wanted));
        let other = torch_uniform(&layout, 1, 1);
        assert!(w.iter().zip(&other).filter(|(a, b)| a == b).count() < 10);
        check(&variational(&layout, 1, 0, false, -5.0), &layout.views[1], wanted[1]);
    }

    /// Mean and deviation of each part of a variational last layer, within five standard errors; PyTorch's order and back.
    #[test]
    fn a_variational_layer_starts_as_the_page_says() {
        let mut places = Places::default();
        places.linear("0", 3, 16, None);
        let at = places.vbll("1", 16, 100, Some((4, 2, 2)));
        let layout = places.layout;
        assert_eq!((at.mean, at.log_scale, at.log_noise, layout.total), (64, 1664, 3264, 3364));
        let names: Vec<_> = layout.views[2..].iter().map(|v| (v.name.as_str(), v.shape.as_slice())).collect();
        assert_eq!(names, [("1.weight", &[100, 16][..]), ("1.log_scale", &[100, 16]), ("1.log_noise", &[100])]);
        assert_eq!(layout.layers()[1], (64, 3300));
        let w = torch_uniform(&layout, 1, 0);
        for (view, want) in layout.views[2..].iter().zip([0.0, -0.5 * 16f64.ln(), -1.0]) {
            let part: Vec<f64> = w[view.offset..][..view.len()].iter().map(|v| f64::from(*v)).collect();
            let n = part.len() as f64;
            let mean = part.iter().sum::<f64>() / n;
            let sd = (part.iter().map(|v| (v - want).powi(2)).sum::<f64>() / n).sqrt();
            assert!((mean - want).abs() < 5.0 / n.sqrt(), "{}: {mean}", view.name);
            assert!((sd - 1.0).abs() < 5.0 / (2.0 * n).sqrt(), "{}: {sd}", view.name);
        }
        let mut back = vec![0.0; layout.total];
        for v in &layout.views {
            layout.set_from_torch(v, &layout.to_torch(v, &w), &mut back);
        }
        assert_eq!(back, w);
        // Input 1 of PyTorch is channel 0, pixel 1: ours is input 4.
        let torch = layout.to_torch(&layout.views[3], &w);
        assert_eq!(torch[16 * 7 + 1], w[1664 + 4 * 100 + 7]);
    }
}
