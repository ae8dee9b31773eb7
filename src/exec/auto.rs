//! `--device auto`: CPU or GPU, by what a step costs. A GPU computes faster and begins later: each dispatch waits for the one
//! before it, so a small network is done on the CPU before a GPU has started. The rates are round numbers of usual machines, not
//! measured here, so that a run and its resumption choose alike.

use crate::base::simd::Isa;
use crate::program::Cost;

/// What a machine does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Seconds for the start of each op.
    pub start: f64,
    /// Operations per second in a matrix product.
    pub flops: f64,
    /// Bytes per second.
    pub bytes: f64,
}

/// Of a thread on the CPU. A matrix product of this program on the processors of 2019 to 2024 at their usual clock.
fn thread() -> Rates {
    let flops = match Isa::detect() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => 80e9,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => 45e9,
        // NEON; on what has no vectors at all a GPU is rare.
        Isa::Plain => 25e9,
    };
    // A batch of rows and the weights of a small network stay in the caches.
    Rates { start: 1e-6, flops, bytes: 30e9 }
}

/// Threads beyond so many share caches and memory: they count for less.
const FULL_THREADS: f64 = 8.0;
const LATER_THREADS: f64 = 0.3;

/// Of a CPU that `threads` compute on; `replicas` networks are shared out among them.
pub fn of_cpu(threads: usize, replicas: usize) -> Rates {
    let one = thread();
    let used = threads.min(replicas.max(1)) as f64;
    let worth = used.min(FULL_THREADS) + LATER_THREADS * (used - FULL_THREADS).max(0.0);
    Rates { start: one.start, flops: one.flops * worth, bytes: one.bytes * worth }
}

/// Of a GPU by its kind, in these kernels: a card of its own, or a part of the processor.
pub fn of_gpu(is_discrete: bool) -> Rates {
    match is_discrete {
        true => Rates { start: 4e-6, flops: 4e12, bytes: 300e9 },
        false => Rates { start: 6e-6, flops: 400e9, bytes: 40e9 },
    }
}

impl Rates {
    /// Seconds for what starts `starts` times.
    pub fn seconds(&self, cost: &Cost, starts: usize) -> f64 {
        self.start * starts as f64 + (cost.flops / self.flops).max(cost.bytes / self.bytes)
    }
}

/// "0.065 ms".
pub fn milliseconds(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    if ms < 0.1 { format!("{ms:.3} ms") } else { format!("{ms:.2} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefers_gpu(cost: Cost, dispatches: usize, threads: usize, replicas: usize, is_discrete: bool) -> bool {
        of_gpu(is_discrete).seconds(&cost, dispatches) < of_cpu(threads, replicas).seconds(&cost, cost.ops)
    }

    /// The bench cases, with the operations and bytes that `vifo bench --explain` counts.
    #[test]
    fn small_networks_stay_on_the_cpu_and_image_networks_go_to_the_gpu() {
        let toy = Cost { flops: 6e6, bytes: 1.4e6, ops: 20 };
        let alexnet = Cost { flops: 30.8e9, bytes: 702e6, ops: 30 };
        for (threads, is_discrete) in [(2, true), (2, false), (16, true), (16, false)] {
            assert!(!prefers_gpu(toy, 25, threads, 1, is_discrete), "{threads} {is_discrete}");
        }
        assert!(prefers_gpu(alexnet, 39, 2, 1, true) && prefers_gpu(alexnet, 39, 2, 1, false));
        // A hundred replicas of a small network fill a card.
        let many = Cost { flops: 100.0 * 6e6, bytes: 100.0 * 1.4e6, ops: 20 };
        assert!(prefers_gpu(many, 25, 2, 100, true));
    }
}
