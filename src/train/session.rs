//! A recorded training step on an executor. On the CPU an ensemble is cut into as many sessions as there are threads:
//! members are independent, so sessions need no barrier, and the numbers do not depend on the cut. Several data sets
//! are cut between them: repulsive members, which interact, stay together, and a thread that is done takes the next set.
//! Variants of a training are lanes: each has programs and step arguments of its own.

use crate::data::Dataset;
use crate::error::Result;
use crate::exec::gpu::Forms;
use crate::exec::{Chosen, Device, Executor};
use crate::method::{DataX, ModelSpec, TrainProgram};
use crate::ops::StepArgs;
use crate::ops::reduce::{SUM_BAD_STEP, SUM_BAD_TERM, SUM_STEPS, SUM_WORDS};
use crate::program::Buf;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

struct Part {
    members: usize,
    /// Place of its setup among those that are trained beside each other.
    lane: usize,
    /// Places of its data sets among all of them, or of its members where each holds out rows of its own: what is trained to
    /// an end of its own.
    groups: Range<usize>,
    exec: Box<dyn Executor>,
    forms: Forms,
    weights: Buf,
    optimizer: Vec<(&'static str, Buf)>,
    average: Option<Buf>,
    sums: Buf,
    running: Option<Buf>,
}

pub struct Session {
    parts: Vec<Part>,
    members: usize,
    is_parallel: bool,
    pub device: String,
}

/// Sums since the last `take_sums`, averaged over the rows of the steps and over members.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Losses {
    pub nll: f64,
    pub regularizer: f64,
    pub auxiliary: f64,
    /// Step and term of the first value that was not finite.
    pub bad: Option<(u64, &'static str)>,
}

/// Hands the training inputs to an executor; on the CPU all parts of an ensemble share them.
pub fn write_inputs(exec: &mut dyn Executor, to: DataX, data: &Dataset) -> Result<()> {
    match to {
        DataX::Rows(buf) => exec.share(buf, &data.x),
        DataX::Images { shards, shard_rows } => {
            let shard = shard_rows as usize * data.d;
            for (s, buf) in shards.into_iter().enumerate() {
                let (first, last) = ((s * shard).min(data.bytes.len()), ((s + 1) * shard).min(data.bytes.len()));
                if first < last {
                    exec.write_bytes(buf, data.bytes.clone(), first..last)?;
                }
            }
            Ok(())
        }
    }
}

const TERMS: [&str; 4] = ["expected negative log-likelihood", "regularizer", "auxiliary regularizer", "gradient"];

impl Session {
    pub fn new(
        setup: &ModelSpec,
        device: &Device,
        data: &Dataset,
        aux_range: &(Vec<f32>, Vec<f32>),
    ) -> Result<Session> {
        Self::of_sets(setup, device, &[data], &[aux_range])
    }

    /// Of several data sets on the replica axis (`ModelSpec::per_set`), with the range of the auxiliary inputs of each.
    pub fn of_sets(
        setup: &ModelSpec,
        device: &Device,
        data: &[&Dataset],
        aux_range: &[&(Vec<f32>, Vec<f32>)],
    ) -> Result<Session> {
        let parts = Self::parts(setup, device, data, aux_range, 0)?;
        Ok(Self::of_parts(parts, setup.members as usize, device))
    }

    /// Of several setups beside each other on the same rows, with the same members each: those of the second come behind those
    /// of the first in all that is read and written.
    pub fn of_lanes(
        setups: &[&ModelSpec],
        device: &Device,
        data: &Dataset,
        aux_range: &(Vec<f32>, Vec<f32>),
    ) -> Result<Session> {
        let mut all = vec![];
        for (lane, setup) in setups.iter().enumerate() {
            all.extend(Self::parts(setup, device, &[data], &[aux_range], lane)?);
        }
        Ok(Self::of_parts(all, setups.iter().map(|s| s.members as usize).sum(), device))
    }

    fn of_parts(parts: Vec<Part>, members: usize, device: &Device) -> Session {
        let is_parallel = device.is_parallel();
        let named = parts.first().map_or(String::new(), |part| part.exec.device());
        let device = match (parts.len(), device) {
            (n @ 2.., Device::Cpu) => format!("{named}, {} threads", n.min(rayon::current_num_threads())),
            (n @ 2.., Device::Several(_)) => {
                let others = parts[1..n].iter().map(|part| part.exec.device());
                [named].into_iter().chain(others).collect::<Vec<_>>().join(" and ")
            }
            _ => named,
        };
        Session { parts, members, is_parallel, device }
    }

    /// Forms of kernels that were measured on this card, for the run's record.
    pub fn forms(&self) -> Forms {
        self.parts.iter().flat_map(|part| part.forms.clone()).collect()
    }

    /// The parts of one setup, at place `lane` among equal ones.
    fn parts(
        setup: &ModelSpec,
        device: &Device,
        data: &[&Dataset],
        aux_range: &[&(Vec<f32>, Vec<f32>)],
        lane: usize,
    ) -> Result<Vec<Part>> {
        let (members, own_folds) = (setup.members as usize, setup.folds > 0);
        let n_parts = Self::n_parts(setup, device, data.len());
        let groups = if own_folds { members } else { data.len().max(1) };
        let mut parts = vec![];
        for i in 0..n_parts {
            let (first, last) = (i * members / n_parts, (i + 1) * members / n_parts);
            let part = setup.part(first as u32, (last - first) as u32);
            let recorded = part.record_training(device.max_bytes_binding())?;
            let TrainProgram { program, data_x, data_y, data_w, aux_range: aux, .. } = recorded;
            let TrainProgram { weights, optimizer, average, sums, running, .. } = recorded;
            let (mut exec, forms) = device.trainer(i, program)?;
            let (first_set, sets) = part.sets();
            let place = (first_set - setup.sets().0) as usize;
            let own = place..place + sets as usize;
            let (data, aux_range) = (&data[own.clone()], &aux_range[own.clone()]);
            match (data, data_x) {
                ([one], _) => write_inputs(exec.as_mut(), data_x, one)?,
                (_, DataX::Rows(x)) => {
                    exec.write(x, &data.iter().flat_map(|d| d.x.iter()).copied().collect::<Vec<_>>())?
                }
                // `record_training` refuses several sets of images.
                (_, DataX::Images { .. }) => {}
            }
            exec.write(data_y, &data.iter().flat_map(|d| &d.y).copied().collect::<Vec<_>>())?;
            if let Some(data_w) = data_w {
                let each = |w: f32| std::iter::repeat_n(w, setup.targets as usize);
                let weights: Vec<f32> = data.iter().flat_map(|d| d.row_weights()).flat_map(each).collect();
                exec.write(data_w, &weights)?;
            }
            if let Some((low, high)) = aux {
                exec.write(low, &aux_range.iter().flat_map(|a| &a.0).copied().collect::<Vec<_>>())?;
                exec.write(high, &aux_range.iter().flat_map(|a| &a.1).copied().collect::<Vec<_>>())?;
            }
            if let Some(running) = running {
                exec.write(running, &part.initial_running())?;
            }
            let own = if own_folds { first..last } else { own };
            let groups = lane * groups + own.start..lane * groups + own.end;
            parts.push(Part {
                members: last - first,
                lane,
                groups,
                exec,
                forms,
                weights,
                optimizer,
                average,
                sums,
                running,
            });
        }
        Ok(parts)
    }

    /// Where a training of `members` networks goes, and why: what `device` chooses for a step of all of them.
    pub fn place(setup: &ModelSpec, members: usize, device: &Device) -> Result<Chosen> {
        match device {
            Device::Auto(_) => Ok(device.choose(&setup.record_training(device.max_bytes_binding())?.program, members)),
            device => Ok(Chosen { device: device.clone(), reason: None }),
        }
    }

    /// Programs that the members of `sets` data sets are cut into. Those on the CPU read one copy of the inputs; each has targets
    /// of its own.
    pub fn n_parts(setup: &ModelSpec, device: &Device, sets: usize) -> usize {
        let (members, threads) = (setup.members as usize, rayon::current_num_threads());
        let groups = if setup.folds > 0 { members } else { sets.max(1) };
        match device {
            Device::Cpu if setup.is_coupled() || groups >= threads => groups,
            Device::Cpu => threads.clamp(1, members),
            // Equal parts of whole sets: what interacts stays together.
            Device::Several(gpus) if sets > 1 || setup.is_coupled() => {
                (1..=gpus.len().min(sets.max(1))).rev().find(|n| sets.max(1).is_multiple_of(*n)).unwrap_or(1)
            }
            Device::Several(gpus) => gpus.len().min(members),
            _ => 1,
        }
    }

    pub fn run(&mut self, args: &[StepArgs<f64>]) -> Result<()> {
        self.run_where(|_| args, |_| true)
    }

    /// For the data sets, or members with folds of their own, that are `wanted`. One that shares a program with a wanted one
    /// is trained, too.
    pub fn run_groups(&mut self, args: &[StepArgs<f64>], wanted: &[bool]) -> Result<()> {
        self.run_where(|_| args, |p| wanted[p.groups.clone()].contains(&true))
    }

    /// The same with arguments of its own for each lane.
    pub fn run_lanes(&mut self, args: &[Vec<StepArgs<f64>>], wanted: &[bool]) -> Result<()> {
        self.run_where(|p| &args[p.lane], |p| wanted[p.groups.clone()].contains(&true))
    }

    fn run_where<'a>(
        &mut self,
        args: impl Fn(&Part) -> &'a [StepArgs<f64>] + Sync,
        wanted: impl Fn(&Part) -> bool + Sync,
    ) -> Result<()> {
        let run = |p: &mut Part| {
            let args = args(p);
            p.exec.run(args)
        };
        // A page has one thread, and no need to fetch what divides work.
        let is_parallel = self.is_parallel && cfg!(not(target_arch = "wasm32"));
        let threads = if is_parallel { rayon::current_num_threads() } else { 1 };
        let others = threads.min(self.parts.len()).saturating_sub(1);
        let mut left = self.parts.iter_mut().filter(|p| wanted(p));
        if others == 0 {
            return left.try_for_each(run);
        }
        let left = Mutex::new(left);
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || std::iter::from_fn(next).try_for_each(run);
        let failed = Mutex::new(None);
        let note = |result: Result<()>| {
            if let Err(e) = result {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            }
        };
        // This thread works, too. Where it only waited, the others would all be woken at once, and the system may put two of them
        // behind each other on one processor for some milliseconds, as long as the whole work, while another one idles.
        rayon::in_place_scope(|scope| {
            (0..others).for_each(|_| scope.spawn(|_| note(work())));
            note(work());
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// All members' weights, one after another.
    pub fn weights(&mut self) -> Result<Vec<f32>> {
        self.read(|p| p.weights)
    }

    pub fn set_weights(&mut self, values: &[f32]) -> Result<()> {
        self.write(|p| p.weights, values)
    }

    /// The weights that are evaluated and predict: their average where there is one, else the weights of the last step.
    pub fn predicting_weights(&mut self) -> Result<Vec<f32>> {
        self.read(|p| p.average.unwrap_or(p.weights))
    }

    /// Weights to start from, for their average, too.
    pub fn start_from(&mut self, values: &[f32]) -> Result<()> {
        self.set_weights(values)?;
        self.set_average(values)
    }

    /// The average, where there is one.
    pub fn set_average(&mut self, values: &[f32]) -> Result<()> {
        match self.parts.iter().any(|p| p.average.is_some()) {
            true => self.write(|p| p.average.unwrap_or(p.weights), values),
            false => Ok(()),
        }
    }

    pub fn optimizer(&mut self) -> Result<Vec<(String, Vec<f32>)>> {
        let names: Vec<&'static str> = self.parts[0].optimizer.iter().map(|o| o.0).collect();
        names.iter().enumerate().map(|(i, name)| Ok((name.to_string(), self.read(|p| p.optimizer[i].1)?))).collect()
    }

    /// Restores what `optimizer` returned; names that do not belong to this optimizer are an error of the caller.
    pub fn set_optimizer(&mut self, state: &[(String, Vec<f32>)]) -> Result<()> {
        for i in 0..self.parts[0].optimizer.len() {
            let name = self.parts[0].optimizer[i].0;
            if let Some((_, values)) = state.iter().find(|(n, _)| n == name) {
                self.write(|p| p.optimizer[i].1, values)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, buf: impl Fn(&Part) -> Buf) -> Result<Vec<f32>> {
        let mut out = vec![];
        for p in &mut self.parts {
            let b = buf(p);
            out.extend(p.exec.read(b)?);
        }
        Ok(out)
    }

    /// Running statistics of batch normalisation, all members one after another; empty where the network has none.
    pub fn running(&mut self) -> Result<Vec<f32>> {
        let mut out = vec![];
        for p in &mut self.parts {
            if let Some(running) = p.running {
                out.extend(p.exec.read(running)?);
            }
        }
        Ok(out)
    }

    pub fn set_running(&mut self, values: &[f32]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.write(|p| p.running.unwrap_or(p.weights), values)
    }

    fn write(&mut self, buf: impl Fn(&Part) -> Buf, values: &[f32]) -> Result<()> {
        let each = values.len() / self.members.max(1);
        let mut rest = values;
        for p in &mut self.parts {
            let (mine, others) = rest.split_at(p.members * each);
            let b = buf(p);
            p.exec.write(b, mine)?;
            rest = others;
        }
        Ok(())
    }

    /// Reads the summed losses and sets them back to zero.
    pub fn take_sums(&mut self) -> Result<Losses> {
        self.take_sums_of(|_| true)
    }

    /// Of the groups that are `wanted` alone: what else was trained beside them depends on the device and the threads.
    pub fn take_sums_of(&mut self, wanted: impl Fn(usize) -> bool) -> Result<Losses> {
        let losses = self.sums_of(wanted)?;
        self.clear_sums()?;
        Ok(losses)
    }

    pub fn clear_sums(&mut self) -> Result<()> {
        self.parts.iter_mut().try_for_each(|p| p.exec.write(p.sums, &vec![0.0; p.members * SUM_WORDS]))
    }

    /// The sums as the program keeps them [members, SUM_WORDS], for a checkpoint.
    pub fn raw_sums(&mut self) -> Result<Vec<f32>> {
        self.read(|p| p.sums)
    }

    pub fn set_raw_sums(&mut self, sums: &[f32]) -> Result<()> {
        self.write(|p| p.sums, sums)
    }

    /// Reads the summed losses of the groups that are `wanted`.
    pub fn sums_of(&mut self, wanted: impl Fn(usize) -> bool) -> Result<Losses> {
        let mut losses = Losses::default();
        let sums = self.read(|p| p.sums)?;
        let per_group = self.members / self.parts.last().map_or(1, |p| p.groups.end);
        let of_wanted: Vec<&[f32]> =
            sums.chunks_exact(SUM_WORDS).enumerate().filter_map(|(m, s)| wanted(m / per_group).then_some(s)).collect();
        for s in &of_wanted {
            let batches = if s[SUM_STEPS] > 0.0 { s[SUM_STEPS] as f64 } else { 1.0 };
            let steps = batches * of_wanted.len() as f64;
            losses.nll += s[0] as f64 / steps;
            losses.regularizer += s[1] as f64 / steps;
            losses.auxiliary += s[2] as f64 / steps;
            if s[SUM_BAD_STEP] > 0.0 {
                let bad = (s[SUM_BAD_STEP] as u64 - 1, TERMS[(s[SUM_BAD_TERM] as usize).clamp(1, 4) - 1]);
                if losses.bad.is_none_or(|b| bad.0 < b.0) {
                    losses.bad = Some(bad);
                }
            }
        }
        Ok(losses)
    }
}
