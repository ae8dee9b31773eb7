// What changes from step to step: one row of the schedule, in the order of StepArgs::words (src/ops/step.rs).

struct Prior {
    p0: f32,
    p1: f32,
    p2: f32,
    constant: f32,
}

struct StepArgs {
    step: u32,
    epoch: u32,
    batch_start: u32,
    n_valid: u32,
    seed: u32,
    n_samples: u32,
    lr: f32,
    bias1: f32,
    bias2: f32,
    clip_norm: f32,
    eta: f32,
    eta_aux: f32,
    weight_decay: f32,
    prior: Prior,
    collect: u32,
    warm: u32,
    // The last word of a row of 80 bytes, five aligned quadruples.
    dropout: f32,
}

// First image of a part of a batch and the image past its last: part 0 = valid data rows, 1 = auxiliary rows.
fn part_range(part: u32, n_valid: u32, data_images: u32, images: u32) -> vec2<u32> {
    return select(vec2<u32>(data_images, images), vec2<u32>(0u, n_valid), part == 0u);
}
