//! Training steps on one thread and on several end in the same bits: the work of an image network is divided into pieces
//! that do not depend on the number of threads, and partial sums are added in one order.

use vifo::data::Task;
use vifo::data::load::load;
use vifo::exec::cpu::CpuExecutor;
use vifo::method::{DataX, Method, ModelSpec, base, vi};
use vifo::net::{AlexNet, Last, Net, PreResNet};
use vifo::recipe::Recipe;
use vifo::train::plan::TrainingPlan;

const CLASSES: u32 = 10;

/// Name, method, network of so many outputs, batch, lines of the recipe's section `train`.
type Case = (&'static str, &'static dyn Method, fn(Last) -> Net, u32, &'static str);

/// Two steps on `batch` made-up images, the second with a short batch; every number that lives on, as bits.
fn two_steps(method: &'static dyn Method, net: fn(Last) -> Net, batch: u32, train: &str, threads: usize) -> Vec<u32> {
    let name = method.name();
    let recipe = format!("[data]\ntoy = \"sinusoid\"\n[train]\n{train}\n[method]\nname = \"{name}\"\n");
    let table = Recipe::parse(&recipe, "test").unwrap_or_else(|e| panic!("{e}"));
    let recipe = Recipe::from_table(&table, "test").unwrap_or_else(|e| panic!("{e}"));
    let data = load(&recipe).unwrap_or_else(|e| panic!("{e}"));
    let mut plan = TrainingPlan::new(&recipe, 100, &data.encoder).unwrap_or_else(|e| panic!("{e}"));
    let net = net(method.last_layer(Task::Classification, CLASSES));
    let inputs = (batch * net.n_in()) as usize;
    plan.setup = ModelSpec {
        method,
        task: Task::Classification,
        k: CLASSES,
        exact: false,
        samples: 2,
        net,
        n_rows: batch,
        batch,
        aux: None,
        ..plan.setup
    };
    let p = plan.setup.record_training(u64::MAX).expect("a program");
    let mut exec = CpuExecutor::<f32>::new(p.program);
    let DataX::Rows(data_x) = p.data_x else { panic!("rows were asked for") };
    exec.set(data_x, &(0..inputs).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<_>>());
    exec.set(p.data_y, &(0..batch).map(|i| (i % CLASSES) as f32).collect::<Vec<_>>());
    exec.set(p.weights, &plan.setup.initial_weights(3, false, -5.0));
    if let Some(running) = p.running {
        exec.set(running, &plan.setup.initial_running());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| {
        for step in 0..2 {
            let mut args = plan.args(step);
            (args.n_valid, args.batch_start) = (batch - step as u32, 0);
            exec.step(&args.cast());
        }
    });
    let full = 1.0 + (batch - 1) as f32 / batch as f32;
    assert_eq!(exec.get(p.sums)[3..5], [full, 0.0], "a full batch and all but a row of another, none with a bad loss");
    let kept = [p.weights, p.sums].into_iter().chain(p.running).chain(p.optimizer.iter().map(|(_, buf)| *buf));
    kept.flat_map(|buf| exec.get(buf).iter().map(|v| v.to_bits()).collect::<Vec<_>>()).collect()
}

#[test]
fn image_networks_train_alike_on_one_and_more_threads() {
    let alexnet = |last: Last| Net::AlexNet(AlexNet::paper(3, last));
    let preresnet = |last: Last| Net::PreResNet(PreResNet::paper(3, last));
    let clipped_sgd = "optimizer = \"sgd\"\nclip = 1";
    let cases: [Case; 3] = [
        ("PreResNet20, Adam", &base::Base, preresnet, 17, ""),
        ("AlexNet, clipped SGD", &base::Base, alexnet, 8, clipped_sgd),
        ("AlexNet, VI", &vi::MEAN, alexnet, 4, ""),
    ];
    for (name, method, net, batch, train) in cases {
        let one = two_steps(method, net, batch, train, 1);
        for threads in [2, 3] {
            let more = two_steps(method, net, batch, train, threads);
            let differ = one.iter().zip(&more).filter(|(a, b)| a != b).count();
            assert_eq!((one.len(), differ), (more.len(), 0), "{name}: numbers that differ on {threads} threads");
        }
    }
}
