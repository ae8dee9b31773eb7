//! Whoever drives a body, on whatever way its commands and reports go: the numbers are the same.

use super::*;
use crate::live::chore::Chore;
use crate::live::far::{Down, Far, Up, decoded, encoded, worked};
use crate::live::worker::Keep;
use crate::recipe::Recipe;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

fn start() -> Command {
    let text =
        "[data]\ntoy = \"sinusoid\"\nrows = 24\nvalidation_fraction = 0.0\n[net]\nhidden = [8]\n[train]\nepochs = 40\n";
    let table = Recipe::parse(text, "test").expect("a recipe");
    let recipes = vec![crate::method::checked(&table, "test").expect("a recipe")];
    Command::Start { recipes, keep: None, running: true }
}

/// Trains to the end and returns step and loss of the epochs' rows, the body driven by a thread's loop or by its caller.
fn losses(by_turns: bool) -> Vec<(u64, u64)> {
    let (commands, from_caller) = sync_channel(4);
    let (to_caller, reports) = sync_channel(256);
    let (slot, _looks) = sync_channel(1);
    commands.send(start()).expect("room");
    let mut body = Body::new(Ends { commands: from_caller, reports: to_caller, looks: slot, wake: Arc::new(|| {}) });
    let mut found = vec![];
    if by_turns {
        assert!(body.turn(false));
        let mut turns = 0;
        while body.rest().is_some() && turns < 100_000 {
            assert!(body.turn(false));
            reports.try_iter().for_each(|r| take(&mut found, r));
            turns += 1;
            // Snapshots that nobody fetches must not keep it busy.
            body.waiting = None;
        }
        assert!(body.rest().is_none() && body.turn(false), "it waits for commands");
    } else {
        let thread = std::thread::spawn(move || body.run());
        loop {
            let report = reports.recv().expect("a report");
            let ended = matches!(report, WorkerEvent::WorkerState(WorkerState::Ended(_)));
            take(&mut found, report);
            if ended {
                break;
            }
        }
        drop(commands);
        thread.join().expect("it ends with its caller");
    }
    found
}

fn take(found: &mut Vec<(u64, u64)>, report: WorkerEvent) {
    match report {
        WorkerEvent::Rows(rows) => found.extend(rows.into_iter().map(|(_, row)| (row.step, row.loss.to_bits()))),
        WorkerEvent::Failed(e) | WorkerEvent::Refused(e) => panic!("{e}"),
        _ => {}
    }
}

/// The same by bytes alone, as a page's worker does it; the caller looks at every third turn.
fn losses_from_afar() -> Vec<(u64, u64)> {
    let mut far = Far::new(|_, _| panic!("no chore"));
    far.hear(&encoded(&Down::Commands(vec![start()])).expect("bytes")).expect("commands");
    let (mut found, mut ended) = (vec![], false);
    for turn in 0..100_000 {
        let rests = far.turn().expect("no chore").is_none();
        if turn % 3 != 0 {
            continue;
        }
        let Some(bytes) = far.tell().expect("bytes") else {
            if ended && rests {
                return found;
            }
            continue;
        };
        let up: Up = decoded(&bytes).expect("reports");
        ended |= up.events.contains(&WorkerEvent::WorkerState(WorkerState::Ended(Ending::Finished)));
        assert!(up.look.is_none_or(|look| look.slots.len() == 1));
        up.events.into_iter().for_each(|e| take(&mut found, e));
    }
    panic!("it comes to no end")
}

#[test]
fn by_turns_and_from_afar_comes_what_a_thread_gives() {
    let thread = losses(false);
    assert!(!thread.is_empty());
    assert_eq!(losses(true), thread);
    assert_eq!(losses_from_afar(), thread);
}

/// Numbers that are none and recipes with what is left out among them.
#[test]
fn commands_and_reports_come_back_from_their_bytes() {
    let Command::Start { recipes, .. } = start() else { panic!("a start") };
    let keep = Keep { path: "/runs/a".into(), force: true, report: false };
    let commands = vec![
        Command::Start { recipes: recipes.clone(), keep: Some(keep), running: false },
        Command::Resume { path: "/runs/b".into(), more: None, report: false, running: true },
        Command::Step(u64::MAX),
        Command::Change(recipes),
        Command::Pace(Some(f64::INFINITY)),
        Command::View(View { x_range: Some((-1.0, f64::NAN)), prior: Some((3, 1)), ..View::default() }),
        Command::Save { slot: 1, path: "c".into(), force: false },
    ];
    let bytes = encoded(&commands).expect("bytes");
    let back: Vec<Command> = decoded(&bytes).expect("commands");
    assert_eq!(format!("{back:?}"), format!("{commands:?}"));
    let row = EpochRow { loss: f64::NAN, eta: Some(0.1 + 0.2), ..EpochRow::default() };
    let events = vec![
        WorkerEvent::Rows(vec![(2, row)]),
        WorkerEvent::Refused(Error::data("a.csv", "is empty", "rows", "add some")),
        WorkerEvent::WorkerState(WorkerState::Ended(Ending::Early)),
    ];
    let up = Up { events, look: Some(Snapshot { number: 7, ..Snapshot::default() }) };
    let back: Up = decoded(&encoded(&up).expect("bytes")).expect("reports");
    assert_eq!(format!("{back:?}"), format!("{up:?}"));
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Halve(u32);

impl Chore for Halve {
    const NAME: &'static str = "halve";
    type Done = u32;
    fn paths(&self) -> Vec<std::path::PathBuf> {
        vec![]
    }
    fn work(self) -> Result<u32> {
        let help = "take an even one";
        if self.0.is_multiple_of(2) { Ok(self.0 / 2) } else { Err(Error::usage("halve", "is odd", "even", help)) }
    }
}

#[test]
fn a_chore_is_done_from_afar() {
    let mut far = Far::new(|name, bytes| match name {
        Halve::NAME => worked::<Halve>(bytes),
        _ => Err(Error::run(name, "is no chore", "")),
    });
    for (given, wanted) in [(8, Some(4)), (9, None)] {
        let bytes = encoded(&Halve(given)).expect("bytes");
        far.hear(&encoded(&Down::Chore { name: Halve::NAME.into(), bytes }).expect("bytes")).expect("a chore");
        far.turn().expect("a known chore");
        let done: Result<u32> = decoded(&far.tell().expect("told").expect("a result")).expect("a result");
        assert_eq!(done.ok(), wanted);
    }
    far.hear(&encoded(&Down::Chore { name: "other".into(), bytes: vec![] }).expect("bytes")).expect("a chore");
    assert!(far.turn().is_err());
}

/// A GPU that is gone is told of, and its training goes on on the CPU: from the last moment that is kept, or from the first step.
#[test]
fn a_lost_gpu_leaves_its_training_to_the_cpu() {
    for keeps in [true, false] {
        let (commands, from_caller) = sync_channel(4);
        let (to_caller, reports) = sync_channel(256);
        let (slot, _looks) = sync_channel(1);
        let Command::Start { mut recipes, .. } = start() else { panic!("a start") };
        (recipes[0].device, recipes[0].train.epochs) = ("software".into(), Some(4000));
        commands.send(Command::View(View { moments: keeps, ..View::default() })).expect("room");
        commands.send(Command::Start { recipes, keep: None, running: true }).expect("room");
        let mut body =
            Body::new(Ends { commands: from_caller, reports: to_caller, looks: slot, wake: Arc::new(|| {}) });
        let mut found = vec![];
        let mut turn = |body: &mut Body| {
            assert!(body.turn(false));
            found.extend(reports.try_iter());
            body.waiting = None;
        };
        while body.slots.first().is_none_or(|slot| slot.training.trainer.step() < 10) {
            turn(&mut body);
        }
        let Some((_, Device::Gpu(gpu))) = &body.device else { panic!("a GPU") };
        crate::exec::gpu::testing::lose(gpu);
        while body.rest().is_some() {
            turn(&mut body);
        }
        let back = found.iter().find_map(|report| match report {
            WorkerEvent::WentBack { step, event: Event::Started { device, .. }, .. } => Some((*step, device.clone())),
            _ => None,
        });
        let (step, device) = back.expect("it goes back");
        assert_eq!(step > 0, keeps);
        assert!(device.starts_with("CPU"), "{device}");
        let said: Vec<_> = found.iter().filter(|r| matches!(r, WorkerEvent::Failed(_))).collect();
        let [WorkerEvent::Failed(e)] = &said[..] else { panic!("{said:?}") };
        let words = format!("training goes on on the CPU, from step {step}");
        assert!(e.to_string().contains("device lost") && e.to_string().ends_with(&words), "{e}");
        assert!(found.contains(&WorkerEvent::WorkerState(WorkerState::Ended(Ending::Finished))));
        assert_eq!(body.slots[0].training.trainer.step(), 4000);
    }
}
