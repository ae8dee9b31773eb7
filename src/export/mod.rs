//! A trained run in the formats of other programs. Reads runs through `run::Model`; writes bytes, never files.

pub mod onnx;
