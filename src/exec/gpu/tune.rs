//! Which form of an op is fastest on this card: measured once for each op and size, kept on disk beside the compiled pipelines, and
//! written into each run that used it, so that a resumed run adds in the same order. All forms pass the same parity rows. Where
//! nothing is kept, nothing is measured: a start would choose anew. Trainings alone are tuned; predictions keep to the table.

use super::variants::Variant;
use super::{Checks, Gpu, GpuExecutor};
use crate::base::clock::Instant;
use crate::error::Result;
use crate::exec::Executor;
use crate::ops::{Op, StepArgs};
use crate::program::{Buf, BufferInfo, Element, Program, Role, Step};
use crate::system::cache;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of variants by op and size, as `key` writes them.
pub type Forms = BTreeMap<String, String>;

/// What was measured of one op.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// "conv2d_forward, 1 x 2048 x 64 x 27".
    pub op: String,
    /// What the table of sizes chooses, and what is taken from now on.
    pub table: Variant,
    pub taken: Variant,
    /// Seconds of each variant.
    pub seconds: Vec<(Variant, f64)>,
}

/// By how much a form must be faster than the one of the table: less may be chance.
const GAIN: f64 = 0.95;
/// Seconds of a measurement, of which the median of some counts.
const LONG: f64 = 0.005;
const TIMES: usize = 3;
const MOST_RUNS: usize = 256;
/// Operations of an op that is measured, and of one whose plain form is: a dispatch cannot be cut, and must not look like a hang
/// on the slowest card.
const MOST_FLOPS: f64 = 10e9;
const MOST_FLOPS_PLAIN: f64 = 100e6;

/// Whether measuring it is quick.
fn is_quick(op: &Op, variant: Variant) -> bool {
    let flops = op.product().map_or(0.0, |p| 2.0 * [p.count, p.m, p.n, p.k].iter().map(|n| *n as f64).product::<f64>());
    flops <= if variant == Variant::Plain { MOST_FLOPS_PLAIN } else { MOST_FLOPS }
}

/// Count and sizes of the product; None where there is only one form.
fn key(op: &Op) -> Option<String> {
    let p = op.product()?;
    Some(format!("{}, {} x {} x {} x {}", op.name(), p.count, p.m, p.n, p.k))
}

/// What is known of this card.
pub(super) struct Tuner {
    file: Option<PathBuf>,
    measured: Mutex<Forms>,
    /// What the run that is resumed recorded.
    recorded: Mutex<Option<Forms>>,
}

fn read(path: &Path) -> Forms {
    cache::read(path).and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tuner {
    /// `file` = where it is kept; without one nothing is measured.
    pub fn new(file: Option<PathBuf>) -> Tuner {
        let measured = Mutex::new(file.as_deref().map(read).unwrap_or_default());
        Tuner { file, measured, recorded: Mutex::default() }
    }
}

impl Gpu {
    /// The variant of an op: the one that `forms` names, if this version has it and the adapter can run it, else the table's.
    pub(super) fn of_forms(&self, op: &Op, forms: &Forms) -> Variant {
        let (all, table) = self.variants(op);
        let named = key(op).and_then(|key| forms.get(&key).cloned());
        all.into_iter().find(|v| named.as_deref() == Some(v.name())).unwrap_or(table)
    }

    /// From now on programs get what a run recorded, and the table's choice of what it did not; None measures again.
    pub fn resume_forms(&self, recorded: Option<Forms>) {
        *locked(&self.tuner.recorded) = recorded;
    }

    /// The forms of the program's ops where they were measured. What was not is measured now, once for this card; on a software
    /// adapter only `tune` does it.
    ///
    /// # Errors
    /// A lost device.
    pub fn tuned(self: &Arc<Self>, program: &Program) -> Result<Forms> {
        if let Some(recorded) = &*locked(&self.tuner.recorded) {
            return Ok(recorded.clone());
        }
        if !self.report.is_software() {
            self.tune(program, &|op| !locked(&self.tuner.measured).contains_key(op))?;
        }
        let measured = locked(&self.tuner.measured);
        let of = |key: String| measured.get(&key).map(|name| (key.clone(), name.clone()));
        Ok(program.steps.iter().filter_map(|step| of(key(&step.op)?)).collect())
    }

    /// Measures the ops of the program that are `wanted` by what `Tuning::op` calls them, and keeps what was found. Nothing, where
    /// nothing can be kept.
    ///
    /// # Errors
    /// A lost device. What its memory does not hold, or what would take it long, is not measured.
    pub fn tune(self: &Arc<Self>, program: &Program, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Tuning>> {
        let Some(file) = &self.tuner.file else { return Ok(vec![]) };
        let mut all: Vec<Tuning> = vec![];
        for step in &program.steps {
            let Some(op) = key(&step.op) else { continue };
            let (mut variants, table) = self.variants(&step.op);
            variants.retain(|v| is_quick(&step.op, *v));
            if variants.len() < 2 || !wanted(&op) || all.iter().any(|t| t.op == op) {
                continue;
            }
            let mut seconds = vec![];
            for variant in variants {
                match self.seconds_of(step.op, variant, Checks::default()) {
                    Ok(one) => seconds.push((variant, one)),
                    Err(_) => self.check()?,
                }
            }
            let taken = fastest(&seconds, table);
            locked(&self.tuner.measured).insert(op.clone(), taken.name().into());
            all.push(Tuning { op, table, taken, seconds });
        }
        if !all.is_empty() {
            // Another process may have measured others meanwhile.
            let mut kept = read(file);
            kept.extend(locked(&self.tuner.measured).clone());
            cache::write(file, serde_json::to_string(&kept).unwrap_or_default().as_bytes());
        }
        Ok(all)
    }

    /// Seconds of one run of the op: the median of some, each long enough to measure. On inputs of small numbers of both signs.
    ///
    /// # Errors
    /// Those of the device.
    pub fn seconds_of(self: &Arc<Self>, op: Op, variant: Variant, checks: Checks) -> Result<f64> {
        let mut program = Program::default();
        let mut add = |lens: Vec<usize>, role| -> Vec<Buf> {
            let first = program.buffers.len() as u32;
            let info = |len| BufferInfo { name: "b".into(), len, role, kind: Element::Scalar };
            program.buffers.extend(lens.into_iter().map(info));
            (first..program.buffers.len() as u32).map(Buf).collect()
        };
        let (inputs, outputs) = op.lengths();
        let (inputs, outputs) = (add(inputs, Role::Input), add(outputs, Role::State));
        let lens: Vec<usize> = inputs.iter().map(|b| program.info(*b).len).collect();
        program.steps.push(Step { op, inputs: inputs.clone(), outputs });
        let mut executor = GpuExecutor::with_variant(program, self.clone(), checks, Some(variant))?;
        for (buf, len) in inputs.iter().zip(lens) {
            executor.write(*buf, &(0..len).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect::<Vec<_>>())?;
        }
        let n_valid = match op {
            Op::BatchNormStats(p) => p.data_images,
            Op::BatchNormSums(p) => p.data_images,
            _ => 1,
        };
        let args = vec![StepArgs { n_valid, ..StepArgs::default() }; MOST_RUNS];
        let mut time = |n: usize| -> Result<f64> {
            let start = Instant::now();
            executor.run(&args[..n])?;
            Ok(start.elapsed().as_secs_f64() / n as f64)
        };
        // The first run compiles; the second says how many are long enough.
        time(1)?;
        let n = (LONG / time(1)?.max(1e-9)).clamp(1.0, MOST_RUNS as f64) as usize;
        let mut times = (0..TIMES).map(|_| time(n)).collect::<Result<Vec<_>>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[TIMES / 2])
    }
}

/// The fastest variant, if it gains enough on the table's.
fn fastest(seconds: &[(Variant, f64)], table: Variant) -> Variant {
    let Some((_, of_table)) = seconds.iter().find(|(v, _)| *v == table) else { return table };
    let best = seconds.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, s)| *s < GAIN * of_table).map_or(table, |(v, _)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_faster_is_not_enough() {
        let (plain, tile) = (Variant::Plain, Variant::Tile32x32);
        assert_eq!(fastest(&[(plain, 1.0), (tile, 0.96)], plain), plain);
        assert_eq!(fastest(&[(plain, 1.0), (tile, 0.9)], plain), tile);
        assert_eq!(fastest(&[(plain, 1.0)], tile), tile, "not measured");
        assert_eq!(fastest(&[], tile), tile);
    }
}
