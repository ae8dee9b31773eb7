//! Everything that computes: ops, gradients, methods, training, shaders and exports, each against another witness. One binary
//! for all, since linking each file to the whole library takes longer than running it. `allocation.rs` stays apart: its
//! counting allocator would be that of every test here.

mod common;
mod custom_method;
mod fused;
mod fused_mlp;
mod golden;
mod layout_sync;
mod method_gradients;
mod methods;
mod onnx;
mod op_gradients;
mod op_parity;
mod shaders_valid;
mod threads;
mod torch_weights;
mod training;
