// A row's outputs in a thread's own memory, where `head` finds them. Its family says how many there may be, MOST_OUTPUTS, and asks for
// one of these heads (src/ops/mlp.rs).

const HEAD_SOFTMAX: u32 = 0u;
const HEAD_GAUSSIAN: u32 = 1u;
const HEAD_STUDENT: u32 = 2u;
const HEAD_VIFO: u32 = 3u;

// A row's outputs and their gradient.
var<private> head_outputs: array<f32, MOST_OUTPUTS>;
var<private> head_gradients: array<f32, MOST_OUTPUTS>;

fn head_output(at: u32) -> f32 {
    return head_outputs[at];
}

fn head_gradient(at: u32) -> f32 {
    return head_gradients[at];
}

fn set_head_gradient(at: u32, value: f32) {
    head_gradients[at] = value;
}

// Regularizers over all rows keep their own kernels.
fn head_moment(at: u32) -> f32 {
    return 0.0;
}
