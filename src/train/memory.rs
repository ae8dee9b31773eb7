//! Memory that a run will need, by name, estimated before it begins; what does not fit is refused with a cheaper form.

use super::Predictor;
use super::plan::TrainingPlan;
use super::session::Session;
use crate::data::Dataset;
use crate::data::load::Loaded;
use crate::error::{Error, Result, either};
use crate::exec::Device;
pub use crate::method::Need;
use crate::method::{AVERAGE, LOSS_SCALE};
use crate::metrics::{LinearModel, boosting};
use crate::program::plan::plan as place;
use crate::program::{BufferInfo, Element, Program, Role};
use crate::recipe::{Boosting, key};
use crate::system::memory;
pub use crate::system::memory::size;

/// From here on a run says what it needs.
const WORTH_TELLING: u64 = 1 << 30;

/// All needs, the largest first. Recording reserves nothing, so this is cheap.
pub fn needs(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<Vec<Need>> {
    let mut all: Vec<Need> = vec![];
    for lane in plan.lanes() {
        // Each has programs of its own; the rows are the same, and only one comes to an end.
        for need in lane_needs(lane, data, device)? {
            match all.iter_mut().find(|n| n.what == need.what) {
                Some(same) if need.on_host => same.bytes = same.bytes.max(need.bytes),
                Some(same) => same.bytes += need.bytes,
                None => all.push(need),
            }
        }
    }
    if plan.n_lanes() > 1 {
        let fewer = format!(" or {} (now {})", key!(train.variants).said(), plan.n_lanes());
        all.iter_mut().filter(|n| n.cheaper.starts_with("lower ")).for_each(|n| n.cheaper += &fewer);
    }
    all.sort_by_key(|n| std::cmp::Reverse(n.bytes));
    Ok(all)
}

fn lane_needs(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<Vec<Need>> {
    let s = &plan.setup;
    let recorded = s.record_training(device.max_bytes_binding())?;
    let is_optimizer =
        |name: &str| name.starts_with("adam.") || name.starts_with("sgd.") || [AVERAGE, LOSS_SCALE].contains(&name);
    let collected: Vec<&str> = recorded.optimizer.iter().map(|o| o.0).filter(|name| !is_optimizer(name)).collect();
    let training = recorded.program;
    let sum = |which: &dyn Fn(&BufferInfo) -> bool| -> u64 {
        training.buffers.iter().filter(|b| which(b)).map(bytes_of).sum()
    };
    let optimizer = match (s.optimizer.is_adam(), s.stepping.average.is_some()) {
        (true, false) => "Adam's moments",
        (true, true) => "Adam's moments and an average of weights",
        (false, false) => "SGD's momentum",
        (false, true) => "SGD's momentum and an average of weights",
    };
    let members = format!("{} (now {})", key!(method.members).said(), s.members);
    let fewer = format!("lower {members}");
    let mut needs = vec![];
    let mut add = |what: String, bytes: u64, cheaper: String, on_host: bool| {
        needs.push(Need { what, bytes, cheaper, on_host });
    };
    let limit = either("train on fewer rows (data.limit for images)", "train on fewer rows");
    add("rows".into(), held(data), limit.clone(), true);
    // Programs on the CPU read the inputs where they are.
    let is_shared = |b: &BufferInfo| device.is_cpu() && (b.name == "data.x" || b.kind == Element::Bytes);
    let copies = Session::n_parts(s, device, 1) as u64;
    let what = if device.is_cpu() { "targets in training" } else { "training rows on the device" };
    add(what.into(), copies * sum(&|b| b.role == Role::Input && !is_shared(b)), limit.clone(), false);
    add("the baselines beside the network".into(), of_baselines(plan, data), limit, true);
    add("weights".into(), sum(&|b| b.role == Role::State && b.name == "weights"), fewer.clone(), false);
    let moments = |b: &BufferInfo| b.role == Role::State && is_optimizer(&b.name);
    add(optimizer.into(), sum(&moments), fewer, false);
    let (what, lower) = s.method.collected(s);
    add(what, sum(&|b| collected.contains(&b.name.as_str())), lower, false);
    let batch = format!("lower {} (now {}) or {members}", key!(train.batch).said(), s.batch);
    add("activations and gradients".into(), scratch_of(&training, device), batch, false);
    let rows = Predictor::chunk_rows(s, data.train.n);
    let prediction = s.record_prediction(rows as u32)?.program;
    let networks = s.members * s.copies();
    let samples = format!("lower {} (now {}) or {members}", key!(predict.samples).said(), s.predict_samples);
    add(format!("prediction with {networks} networks"), whole(&prediction, device), samples, false);
    needs.extend(s.method.host_needs(s));
    needs.retain(|n| n.bytes > 0);
    Ok(needs)
}

/// Program, thread pool and figures of a process, without any data.
pub const PROCESS: u64 = 100 << 20;

/// Bytes of a whole training process on this computer: the program's buffers; weights on the host (best, checkpoint, its file,
/// each with the optimizer's state); rows as they were read and as they are trained on; what the method takes at its end.
pub fn of_process(plan: &TrainingPlan, data: &Loaded) -> Result<u64> {
    let mut of_programs = 0;
    for lane in plan.lanes() {
        let recorded = lane.setup.record_training(u64::MAX)?;
        let buffers = 4 * place(&recorded.program).elements() as u64;
        let weights = recorded.program.info(recorded.weights).len as u64 * 4;
        let copies = 4 + 2 * recorded.optimizer.len() as u64;
        of_programs += buffers + copies * weights;
    }
    let rows = [&data.train, &data.validation, &data.test];
    let bytes = rows.iter().map(|d| 8 * (d.x.len() + d.target.len()) as u64 + d.bytes.len() as u64).sum::<u64>();
    let at_end: u64 = plan.setup.method.host_needs(&plan.setup).iter().map(|n| n.bytes).sum();
    Ok(PROCESS + of_programs + 2 * bytes + at_end)
}

/// Bytes of the encoded rows: they are there when the rest is asked for, and stay to the end.
fn held(data: &Loaded) -> u64 {
    let of = |d: &Dataset| {
        let scalars = d.x.len() + d.y.len() + d.weights.len() + d.ids.len();
        (size_of::<f32>() * scalars + size_of::<f64>() * d.target.len() + d.bytes.len()) as u64
    };
    [&data.train, &data.validation, &data.test].map(of).iter().sum()
}

/// Bytes that the baselines of the results take at the end: training and validation rows side by side, and what a line or
/// trees make of them.
fn of_baselines(plan: &TrainingPlan, data: &Loaded) -> u64 {
    let (d, held_out) = (data.train.d, data.validation.n);
    let n = data.train.n + held_out;
    if data.train.x.is_empty() || data.test.n == 0 {
        return 0;
    }
    let classes = data.encoder.n_classes().unwrap_or(0);
    let joined = if held_out > 0 { (size_of::<f32>() * n * d) as u64 } else { 0 };
    let line = if classes == 0 { LinearModel::bytes(n, d) } else { 0 };
    let trees = match plan.boosting {
        Boosting::Off => false,
        Boosting::On => true,
        Boosting::Auto => boosting::is_quick(n, d, classes),
    };
    joined + line.max(if trees { boosting::bytes(n, d, classes, held_out) } else { 0 })
}

fn bytes_of(b: &BufferInfo) -> u64 {
    b.len as u64 * b.kind.bytes()
}

/// With scratch buffers in shared places.
fn whole(program: &Program, device: &Device) -> u64 {
    let bytes: u64 = program.buffers.iter().filter(|b| b.kind == Element::Bytes).map(bytes_of).sum();
    let plan = place(program);
    // On the CPU a half takes as much as any number.
    bytes + if device.is_cpu() { 4 * plan.elements() as u64 } else { plan.bytes() }
}

fn scratch_of(program: &Program, device: &Device) -> u64 {
    let others: u64 = program.buffers.iter().filter(|b| b.role != Role::Scratch).map(bytes_of).sum();
    whole(program, device).saturating_sub(others)
}

/// Refuses what this computer cannot hold; otherwise the line that says what a large run needs.
pub fn check(plan: &TrainingPlan, data: &Loaded, device: &Device) -> Result<Option<String>> {
    let needs = needs(plan, data, device)?;
    // What is free is beside the rows, which are there already.
    judge(&needs, device.is_cpu(), memory::usable().map(|usable| usable + held(data)))
}

fn judge(needs: &[Need], all_on_host: bool, available: Option<u64>) -> Result<Option<String>> {
    let total: u64 = needs.iter().map(|n| n.bytes).sum();
    let host: u64 = needs.iter().filter(|n| all_on_host || n.on_host).map(|n| n.bytes).sum();
    let listed: Vec<String> = needs.iter().take(3).map(|n| format!("{} {}", n.what, size(n.bytes))).collect();
    let listed = listed.join(", ");
    if let Some(available) = available.filter(|a| host > *a) {
        let help = needs.iter().find(|n| all_on_host || n.on_host).map_or("", |n| n.cheaper.as_str());
        return Err(Error::usage(
            "memory",
            format!("the run needs about {}: {listed}", size(host)),
            format!("the {} that a run may take here", size(available)),
            help,
        ));
    }
    let cheaper = needs.first().map_or("", |n| n.cheaper.as_str());
    Ok((total >= WORTH_TELLING)
        .then(|| format!("needs about {} of memory: {listed}; to need less: {cheaper}", size(total))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{self, laplace};
    use crate::recipe::{Recipe, Structure, keys};

    fn needs_of(sets: &[(&str, &str)]) -> Vec<Need> {
        let mut t = Recipe::parse("[data]\nimages = \"digits\"\n", "t").expect("a recipe");
        for (key, value) in sets {
            keys::set(&mut t, key, value, "t").expect("allowed");
        }
        let recipe = method::checked(&t, "t").expect("a recipe");
        let data = crate::data::load::load(&recipe).expect("data");
        let plan = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect("a plan");
        needs(&plan, &data, &Device::Cpu).expect("needs")
    }

    fn of<'a>(needs: &'a [Need], what: &str) -> &'a Need {
        needs.iter().find(|n| n.what.contains(what)).unwrap_or_else(|| panic!("{what} in {needs:?}"))
    }

    /// Counted by hand: an MLP 64-16-10 has 64 * 16 + 16 + 16 * 10 + 10 = 1,210 weights.
    #[test]
    fn counts_what_a_run_holds() {
        let net = [("net.name", "mlp"), ("net.hidden", "[16]"), ("method.members", "3")];
        let swag = needs_of(&[&net[..], &[("method.name", "swag"), ("swag.columns", "7")]].concat());
        assert_eq!(of(&swag, "weights").bytes, 4 * 3 * 1210);
        assert_eq!(of(&swag, "SGD's momentum").bytes, 4 * 3 * 1210);
        assert_eq!(of(&swag, "SWAG's").bytes, 4 * 3 * 1210 * (2 + 7));
        let base = needs_of(&[&net[..], &[("method.name", "base")]].concat());
        assert_eq!(of(&base, "Adam's moments").bytes, 2 * 4 * 3 * 1210);
        assert!(base.iter().all(|n| !n.what.contains("SWAG")));
    }

    /// The rows are counted once, whatever the number of members; each program on the CPU has targets of its own.
    #[test]
    fn rows_are_counted_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("t.csv");
        let row = |i: usize| format!("{},{},{}\n", i * i % 101, i % 13, (i as f64 * 0.37).sin());
        std::fs::write(&file, "a,b,y\n".to_string() + &(0..1000).map(row).collect::<String>()).expect("written");
        let of = |members: u32, extra: &str| {
            let text = format!(
                "[data]\nfile = {file:?}\n{extra}[method]\nmembers = {members}\n[baselines]\nboosting = \"on\"\n"
            );
            let recipe = method::checked(&Recipe::parse(&text, "t").expect("a recipe"), "t").expect("a recipe");
            let data = crate::data::load::load(&recipe).expect("data");
            let plan = TrainingPlan::new(&recipe, data.train.n, &data.encoder).expect("a plan");
            (needs(&plan, &data, &Device::Cpu).expect("needs"), held(&data), data)
        };
        let bytes = |needs: &[Need], what: &str| needs.iter().find(|n| n.what == what).map_or(0, |n| n.bytes);
        for members in [2, 8] {
            let (needs, held, data) = of(members, "holdout = \"own\"\n");
            assert_eq!((data.train.n, data.validation.n, data.test.n), (900, 0, 100));
            // Two inputs, a target, a line and the target as the file has it.
            assert_eq!((bytes(&needs, "rows"), held), (1000 * (4 * 4 + 8), held));
            let programs = u64::from(members);
            let y = bytes(&needs, "targets in training");
            assert!((programs * 4 * 900..programs * 4 * 900 + 200).contains(&y), "{y}");
            // Every fifth row held out in turn, side by side.
            let at_once = rayon::current_num_threads().min(5) as u64;
            assert_eq!(bytes(&needs, "the baselines beside the network"), at_once * 10 * 900 * 2);
        }
        let (needs, ..) = of(8, "");
        // Training and validation rows side by side as floats, then as doubles and bins.
        assert_eq!(bytes(&needs, "the baselines beside the network"), 900 * 2 * 4 + 900 * 2 * 10);
    }

    #[test]
    fn the_full_covariance_is_named_with_the_cheaper_form() {
        let sets =
            [("method.name", "laplace"), ("net.name", "mlp"), ("method.members", "1"), ("laplace.structure", "full")];
        let needs = needs_of(&sets);
        let full = of(&needs, "Laplace's full covariance of 256 features x 10 outputs");
        assert!(full.bytes >= 4 * (257 * 10u64).pow(2), "{full:?}");
        assert!(full.cheaper.contains("kronecker"), "{full:?}");
    }

    /// The largest case that people ask for: 256 features, 100 classes. (257 * 100)^2 numbers of 4 bytes are 2.64 GB, and
    /// their decomposition in f64 takes ten times that.
    #[test]
    fn a_hundred_classes_are_refused_by_name_and_size() {
        let full = laplace::bytes(Structure::Full, 100, 257);
        assert_eq!(size(full), "2.6 GB");
        assert!(laplace::fit_bytes(Structure::Full, 100, 257) > 2 * full);
        assert!(laplace::fit_bytes(Structure::Kronecker, 100, 257) < 10_000_000);
    }

    #[test]
    fn refuses_what_does_not_fit_and_tells_what_is_large() {
        let need =
            |what: &str, bytes, on_host| Need { what: what.into(), bytes, cheaper: format!("less {what}"), on_host };
        let needs = [need("covariance", 2_600_000_000, true), need("weights", 1_000_000, false)];
        let error = judge(&needs, true, Some(2_000_000_000)).expect_err("too much").to_string();
        assert_eq!(
            error,
            "memory: the run needs about 2.6 GB: covariance 2.6 GB, weights 1 MB; allowed: the 2.0 GB that a run may take here; less covariance"
        );
        let told = judge(&needs, true, Some(8_000_000_000)).expect("fits").expect("told");
        assert!(
            told.starts_with("needs about 2.6 GB of memory: covariance 2.6 GB, weights 1 MB; to need less"),
            "{told}"
        );
        assert_eq!(judge(&needs[1..], true, None), Ok(None));
        // What lies on the device is not this computer's to refuse.
        assert!(judge(&[need("activations", 9_000_000_000, false)], false, Some(1_000_000)).is_ok());
    }
}
