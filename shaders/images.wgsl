// needs: index, rng, step
// A batch of images from bytes: gathered, shifted, mirrored, normalised. Twin: src/ops/images.rs.

struct GatherImages {
    replicas: u32,
    n_rows: u32,
    shard_rows: u32,
    h: u32,
    w: u32,
    c: u32,
    batch: u32,
    out_rows: u32,
    shuffle: u32,
    first_member: u32,
    crop: u32,
    flip: u32,
    mean0: f32,
    mean1: f32,
    mean2: f32,
    inv_sd0: f32,
    inv_sd1: f32,
    inv_sd2: f32,
}
// Four bytes a word, the first in the lowest bits.
@group(0) @binding(0) var<uniform> gather_params: GatherImages;
@group(0) @binding(1) var<storage, read> gather_images0: array<u32>;
@group(0) @binding(2) var<storage, read> gather_images1: array<u32>;
@group(0) @binding(3) var<storage, read> gather_images2: array<u32>;
@group(0) @binding(4) var<storage, read> gather_images3: array<u32>;
@group(0) @binding(5) var<storage, read_write> gather_out: array<f32>;
@group(0) @binding(6) var<storage, read> gather_args: StepArgs;

// Of one image's elements, by one workgroup; the twin's GROUP_ELEMENTS.
const IMAGES_PART: u32 = 512u;

fn image_byte(shard: u32, at: u32) -> u32 {
    var word = 0u;
    switch shard {
        case 0u: { word = gather_images0[at / 4u]; }
        case 1u: { word = gather_images1[at / 4u]; }
        case 2u: { word = gather_images2[at / 4u]; }
        default: { word = gather_images3[at / 4u]; }
    }
    return (word >> (8u * (at % 4u))) & 0xffu;
}

// One workgroup a part of an image: its threads share the row's number and draws, which cost more than an element.
@compute @workgroup_size(64)
fn gather_images(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let p = gather_params;
    let size = p.h * p.w * p.c;
    let parts = div_ceil(size, IMAGES_PART);
    let g = flat_group(group, groups);
    if g >= p.replicas * p.batch * parts {
        return;
    }
    let first = g % parts * IMAGES_PART;
    let b = g / parts % p.batch;
    let r = g / parts / p.batch;
    var row = (gather_args.batch_start + b) % p.n_rows;
    if p.shuffle == 1u {
        row = permute(permutation(gather_args.seed, gather_args.epoch, p.first_member + r, p.n_rows), row);
    }
    let shard = row / p.shard_rows;
    let image = row % p.shard_rows * size;
    let to = (r * p.out_rows + b) * size;
    // Elements 4b .. 4b + 3 of the stream are one block.
    let words = draw_block(Draw(gather_args.seed, STREAM_AUGMENT, gather_args.step, p.first_member + r), b);
    let dy = mul_hi(words.x, 2u * p.crop + 1u);
    let dx = mul_hi(words.y, 2u * p.crop + 1u);
    let mirrored = p.flip == 1u && (words.z >> 31u) == 1u;
    let mean = vec3<f32>(p.mean0, p.mean1, p.mean2);
    let inv_sd = vec3<f32>(p.inv_sd0, p.inv_sd1, p.inv_sd2);
    let end = min(first + IMAGES_PART, size);
    for (var i = first + lane; i < end; i += GROUP_SIZE) {
        let channel = i % p.c;
        let x = i / p.c % p.w;
        // Left of and above the image both wrap round, and so lie past its end.
        let sx = select(x, p.w - 1u - x, mirrored) + dx - p.crop;
        let sy = i / p.c / p.w + dy - p.crop;
        var byte = 0u;
        if sx < p.w && sy < p.h {
            byte = image_byte(shard, image + (sy * p.w + sx) * p.c + channel);
        }
        gather_out[to + i] = (f32(byte) * (1.0 / 255.0) - mean[channel]) * inv_sd[channel];
    }
}
