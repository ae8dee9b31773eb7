//! What a device cannot hold, does not have or has lost ends in one line, before anything is created.

use super::gpu;
use crate::common::rows::{Row, rows};
use std::sync::Arc;
use vifo::error::Error;
use vifo::exec::gpu::testing::lose;
use vifo::exec::gpu::{Choice, GpuExecutor, adapters, open};
use vifo::exec::{Device, Executor};
use vifo::ops::images::GatherImages;
use vifo::ops::linear::{LinearBackwardWeight, LinearForward};
use vifo::ops::reduce::SumSquares;
use vifo::ops::{self, Op, StepArgs};
use vifo::program::{Buf, BufferInfo, Builder, Element, Program, Role, Step};

fn one_step(op: Op, inputs: &[usize], outputs: &[usize]) -> Program {
    let row = Row::new(
        op,
        "",
        inputs.iter().map(|n| vec![0.0; *n]).collect(),
        outputs.iter().map(|n| vec![0.0; *n]).collect(),
    );
    row.program().0
}

/// A run on a lost device ends in one line that names the device and the way on; nothing panics.
#[test]
fn a_lost_device_is_an_error() {
    let lost = Arc::new(open(Choice::Software).unwrap_or_else(|e| panic!("{e}")));
    let program = one_step(Op::SumSquares(SumSquares { replicas: 1, stride: 4, first: 0, length: 4 }), &[4], &[1]);
    let mut executor = GpuExecutor::new(program.clone(), lost.clone()).expect("an executor");
    let args = [StepArgs::default(); 3];
    executor.write(Buf(0), &[1.0, 2.0, 3.0, 4.0]).expect("a live device");
    executor.run(&args).expect("a live device");
    assert_eq!(executor.read(Buf(1)).expect("a live device"), [30.0]);
    lose(&lost);
    let results = [
        executor.run(&args).err(),
        executor.read(Buf(1)).err(),
        executor.write(Buf(0), &[0.0]).err(),
        GpuExecutor::new(program, lost).err(),
    ];
    for (i, error) in results.into_iter().enumerate() {
        let text = error.unwrap_or_else(|| panic!("call {i} worked on a lost device")).to_string();
        assert!(
            text.starts_with("device ") && text.contains("device lost") && text.contains("vifo fit --resume RUN"),
            "{text}"
        );
    }
}

/// Buffers of bytes take bytes, exactly as many as they hold, and give nothing back; the CPU's are tested beside it.
#[test]
fn bytes_that_do_not_fit_are_refused() {
    let op = ops::all().into_iter().find(|o| o.name() == "gather_images").expect("gather_images is an op");
    let row = rows(&op).swap_remove(0);
    let (program, inputs, outputs) = row.program();
    let mut executor = GpuExecutor::new(program, gpu()).expect("an executor");
    let (bytes, range) = row.bytes[0].clone();
    for wrong in [0..range.end - 1, 1..range.end + 1, 0..0] {
        assert!(executor.write_bytes(inputs[0], bytes.clone(), wrong).is_err());
    }
    assert!(executor.write(inputs[0], &[0.0]).is_err() && executor.read(inputs[0]).is_err());
    assert!(executor.write_bytes(outputs[0], bytes.clone(), range.clone()).is_err());
    assert!(executor.write_bytes(inputs[0], bytes, range).is_ok());
}

#[test]
fn too_many_images_are_refused() {
    let most = gpu().max_bytes_binding();
    assert_eq!((Device::Gpu(gpu()).max_bytes_binding(), Device::Cpu.max_bytes_binding()), (most, u64::MAX));
    let n_rows = most as u32 + 1;
    let mut b = Builder::new(1, 1);
    let images = [n_rows as usize, 4, 4, 4].map(|n| b.bytes("data.images", n));
    let out = b.buffer("x", 1, Role::Output);
    let p = GatherImages {
        replicas: 1,
        n_rows,
        shard_rows: n_rows,
        h: 1,
        w: 1,
        c: 1,
        batch: 1,
        out_rows: 1,
        ..bytemuck::Zeroable::zeroed()
    };
    b.push(Op::GatherImages(p), &images, &[out]);
    let error = GpuExecutor::new(b.finish().expect("a sound program"), gpu()).err().expect("refused");
    assert!(matches!(error, Error::Device(_)));
    let text = error.to_string();
    for part in
        ["'data.images'", &format!("{} bytes", most + 4), &format!("{most} bytes"), "--device cpu or fewer images"]
    {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

/// What the adapter cannot hold is refused by name and number before anything is created.
#[test]
fn too_large_a_program_is_refused() {
    let most = gpu().report().max_binding_bytes.min(gpu().report().max_buffer_bytes);
    let len = most as usize / 4 + 1;
    let mut program = Program::default();
    for (name, len, role) in [("activations", len, Role::Input), ("sums", 1, Role::Output)] {
        program.buffers.push(BufferInfo { name: name.into(), len, role, kind: Element::Scalar });
    }
    let op = Op::SumSquares(SumSquares { replicas: 1, stride: len as u32, first: 0, length: len as u32 });
    program.steps.push(Step { op, inputs: vec![Buf(0)], outputs: vec![Buf(1)] });
    let error = GpuExecutor::new(program, gpu()).err().expect("refused");
    assert!(matches!(error, Error::Device(_)));
    let text = error.to_string();
    for part in
        ["'activations'", &format!("{} bytes", len * 4), &format!("{most} bytes"), "smaller --batch", "--device cpu"]
    {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
}

#[test]
fn unknown_adapters_are_refused_by_name() {
    let error = open(Choice::Named("no such adapter".into())).err().expect("refused").to_string();
    assert!(
        error.contains("no such adapter") && error.contains(&gpu().report().name) && error.contains("--device cpu"),
        "{error}"
    );
    let part = &gpu().report().name[..5].to_uppercase();
    assert!(open(Choice::Named(part.clone())).is_ok(), "part of a name, in capitals");
}

/// Sizes that a program cannot have are refused, not executed: the unchecked shaders rest on it.
#[test]
fn short_buffers_are_refused() {
    let forward = LinearForward {
        replicas: 1,
        share: 1,
        rows: 2,
        n_in: 3,
        n_out: 4,
        weight: 0,
        bias: 12,
        stride: 16,
        activation: 0,
    };
    assert!(GpuExecutor::new(one_step(Op::LinearForward(forward), &[6, 16], &[8, 1]), gpu()).is_ok());
    assert!(GpuExecutor::new(one_step(Op::LinearForward(forward), &[5, 16], &[8, 1]), gpu()).is_err());
    let weight =
        LinearBackwardWeight { replicas: 1, share: 1, rows: 2, n_in: 3, n_out: 4, weight: 0, bias: 12, stride: 16 };
    let mut executor =
        GpuExecutor::new(one_step(Op::LinearBackwardWeight(weight), &[6, 8], &[16]), gpu()).expect("an executor");
    assert!(executor.write(Buf(0), &[0.0; 7]).is_err(), "more values than the buffer holds");
}

/// auto and --device gpu never take a software adapter; without hardware the message says what to do.
#[test]
fn hardware_means_hardware() {
    match open(Choice::Hardware) {
        Ok(gpu) => assert!(!gpu.report().is_software()),
        Err(e) => assert!(matches!(e, Error::Device(_)) && e.to_string().contains("--device cpu"), "{e}"),
    }
    assert!(adapters().iter().any(|a| a.is_software() && !a.backend.is_empty() && a.max_storage_buffers >= 8));
}
