// Activations by their number in the parameters; 0 is none. Builds on math; twins in src/ops/linear.rs.

const ACT_RELU: u32 = 1u;
const ACT_SILU: u32 = 2u;

fn activate(activation: u32, z: f32) -> f32 {
    if activation == ACT_RELU {
        return at_least(z, 0.0);
    }
    if activation == ACT_SILU {
        return silu(z);
    }
    return z;
}

// From what the forward pass kept: the output of a ReLU, the input of a SiLU.
fn activation_slope(activation: u32, saved: f32) -> f32 {
    if activation == ACT_RELU {
        return select(0.0, 1.0, saved > 0.0);
    }
    if activation == ACT_SILU {
        return silu_slope(saved);
    }
    return 1.0;
}
