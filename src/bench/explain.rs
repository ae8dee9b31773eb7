//! `vifo bench --explain`: what a step of each case asks of a GPU, counted and not measured, for cards that need not be here.

use super::{CASES, IMAGES, Prepared, image_case, no_case, setup};
use crate::error::Result;
use crate::exec::gpu::model::{CARDS, ModelledDispatch, dispatches, ops};
use crate::exec::gpu::{Gpu, GpuExecutor, Tuning};
use std::sync::Arc;

/// A case and the kernels of one of its steps.
pub struct Explained {
    pub name: &'static str,
    pub ops: usize,
    pub dispatches: Vec<ModelledDispatch>,
}

impl Explained {
    fn of(name: &'static str, (plan, ..): Prepared) -> Result<Explained> {
        let program = plan.setup.record_training(u64::from(u32::MAX))?.program;
        Ok(Explained { name, ops: ops(&program), dispatches: dispatches(&program) })
    }

    pub fn bytes(&self) -> f64 {
        self.dispatches.iter().map(|d| d.bytes).sum()
    }

    pub fn flops(&self) -> f64 {
        self.dispatches.iter().map(|d| d.flops).sum()
    }

    /// Milliseconds of a step on each of `CARDS`.
    pub fn milliseconds(&self) -> [f64; CARDS.len()] {
        CARDS.map(|card| 1e3 * self.dispatches.iter().map(|d| card.seconds(d)).sum::<f64>())
    }

    /// Equal kernels together, those that move most bytes first: the dispatches of each, and their sum.
    pub fn kernels(&self) -> Vec<(usize, ModelledDispatch)> {
        let mut all: Vec<(usize, ModelledDispatch)> = vec![];
        for d in &self.dispatches {
            match all.iter_mut().find(|(_, k)| k.kernel == d.kernel) {
                Some((n, sum)) => {
                    *n += 1;
                    sum.flops += d.flops;
                    sum.bytes += d.bytes;
                    sum.groups += d.groups;
                }
                None => all.push((1, d.clone())),
            }
        }
        all.sort_by(|a, b| b.1.bytes.total_cmp(&a.1.bytes));
        all
    }
}

/// The kernels of a case beside how long they take on a GPU, equal ones together, those that take most first.
pub struct Profiled {
    pub name: &'static str,
    /// Dispatches, their operations and bytes, and their seconds.
    pub kernels: Vec<(usize, ModelledDispatch, f64)>,
}

const PROFILED_STEPS: usize = 20;

/// By the device's own clock, on inputs of zeros: what a kernel does hardly depends on the numbers.
///
/// # Errors
/// A CPU, or a GPU without timestamps.
pub fn profile(gpu: &Arc<Gpu>, only: Option<&str>) -> Result<Vec<Profiled>> {
    let chosen = |name: &str| only.is_none_or(|o| name.contains(o));
    let toys = CASES.iter().filter(|c| chosen(c.0)).map(|(name, _, extra)| Ok((*name, setup(extra)?)));
    let images = IMAGES.iter().filter(|c| only.is_some() && chosen(c.0));
    let images = images.map(|(name, _, net, method)| Ok((*name, image_case(*net, *method)?)));
    let mut all = vec![];
    for case in toys.chain(images) {
        let (name, (plan, ..)) = case?;
        let program = plan.setup.record_training(gpu.max_bytes_binding())?.program;
        let forms = gpu.tuned(&program)?;
        let costs = gpu.modelled(&program, &forms);
        let mut executor = GpuExecutor::with_forms(program, gpu.clone(), &forms)?;
        let args: Vec<_> = (0..PROFILED_STEPS as u64).map(|step| plan.args(step)).collect();
        let mut kernels: Vec<(usize, ModelledDispatch, f64)> = vec![];
        for (cost, timed) in costs.into_iter().zip(executor.profile(&args)?) {
            match kernels.iter_mut().find(|(_, k, _)| k.kernel == timed.kernel) {
                Some((n, sum, seconds)) => {
                    *n += 1;
                    sum.flops += cost.flops;
                    sum.bytes += cost.bytes;
                    *seconds += timed.seconds;
                }
                None => kernels.push((1, ModelledDispatch { kernel: timed.kernel, ..cost }, timed.seconds)),
            }
        }
        kernels.sort_by(|a, b| b.2.total_cmp(&a.2));
        all.push(Profiled { name, kernels });
    }
    if all.is_empty() { Err(no_case(only)) } else { Ok(all) }
}

/// Measures every form of the kernels of the cases on a GPU, and keeps which is fastest. The images' networks take a software
/// adapter minutes: there they are left out.
///
/// # Errors
/// A lost device.
pub fn tune(gpu: &Arc<Gpu>) -> Result<Vec<Tuning>> {
    let toys = CASES.iter().map(|(_, _, extra)| setup(extra));
    let images = IMAGES.iter().filter(|_| !gpu.report().is_software());
    let mut all: Vec<Tuning> = vec![];
    for case in toys.chain(images.map(|(_, _, net, method)| image_case(*net, *method))) {
        let program = case?.0.setup.record_training(gpu.max_bytes_binding())?.program;
        // Each op and size once.
        let new = gpu.tune(&program, &|op| all.iter().all(|t| t.op != op))?;
        all.extend(new);
    }
    Ok(all)
}

/// The cases whose name contains `only`; those of images are among them.
pub fn explain(only: Option<&str>) -> Result<Vec<Explained>> {
    let chosen = |name: &str| only.is_none_or(|o| name.contains(o));
    let mut all = vec![];
    for (name, _, extra) in CASES.iter().filter(|c| chosen(c.0)) {
        all.push(Explained::of(name, setup(extra)?)?);
    }
    for (name, _, net, method) in IMAGES.iter().filter(|c| chosen(c.0)) {
        all.push(Explained::of(name, image_case(*net, *method)?)?);
    }
    if all.is_empty() { Err(no_case(only)) } else { Ok(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_counted() {
        let all = explain(None).expect("cases");
        assert_eq!(all.len(), CASES.len() + IMAGES.len());
        for case in &all {
            assert!(case.dispatches.len() > case.ops && case.bytes() > 0.0 && case.flops() > 0.0, "{}", case.name);
            assert_eq!(case.kernels().iter().map(|k| k.0).sum::<usize>(), case.dispatches.len());
            let ms = case.milliseconds();
            assert!(ms[0] < ms[3], "{}: {ms:?}", case.name);
        }
        // Multiply and add, thrice a layer, 128 images: what the network's own count says.
        let alexnet = all.iter().find(|c| c.name == "image_alexnet_base").expect("a case");
        let (plan, ..) = image_case(super::super::alexnet, &crate::method::base::Base).expect("a case");
        let products = 6.0 * 128.0 * plan.setup.net.multiply_adds() as f64;
        assert!((0.9..1.1).contains(&(alexnet.flops() / products)), "{} of {products}", alexnet.flops());
        assert!(explain(Some("nothing")).is_err());
    }
}
