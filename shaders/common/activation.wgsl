// Activations by their number in the parameters; 0 is none. Builds on math; twins in src/ops/linear.rs.

const ACT_RELU: u32 = 1u;
const ACT_SILU: u32 = 2u;
const ACT_MISH: u32 = 3u;
const ACT_SELU: u32 = 4u;

// Whether the forward pass keeps its input for the slope.
fn keeps_pre(activation: u32) -> bool {
    return activation >= ACT_SILU;
}

fn activate(activation: u32, z: f32) -> f32 {
    if activation == ACT_RELU {
        return at_least(z, 0.0);
    }
    if activation == ACT_SILU {
        return silu(z);
    }
    if activation == ACT_MISH {
        return mish(z);
    }
    if activation == ACT_SELU {
        return selu(z);
    }
    return z;
}

// From what the forward pass kept: the output of a ReLU (or its input), the input of the others.
fn activation_slope(activation: u32, saved: f32) -> f32 {
    if activation == ACT_RELU {
        return select(0.0, 1.0, saved > 0.0);
    }
    if activation == ACT_SILU {
        return silu_slope(saved);
    }
    if activation == ACT_MISH {
        return mish_slope(saved);
    }
    if activation == ACT_SELU {
        return selu_slope(saved);
    }
    return 1.0;
}

fn activate_quad(activation: u32, z: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(
        activate(activation, z.x),
        activate(activation, z.y),
        activate(activation, z.z),
        activate(activation, z.w),
    );
}

fn slope_quad(activation: u32, saved: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(
        activation_slope(activation, saved.x),
        activation_slope(activation, saved.y),
        activation_slope(activation, saved.z),
        activation_slope(activation, saved.w),
    );
}
