//! A program as text, one line per op, so that a diff shows what a change did.

use super::{Buf, Element, Program};
use std::fmt::Write;

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for step in &self.steps {
            let names = |bufs: &[Buf]| {
                bufs.iter()
                    .map(|b| {
                        let info = self.info(*b);
                        let kind = match info.kind {
                            Element::Scalar => "",
                            Element::Half => " f16",
                            Element::Bytes => " u8",
                        };
                        format!("{}[{}{kind}]", info.name, info.len)
                    })
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let mut params = String::new();
            for (name, ty, offset) in step.op.fields() {
                let word: [u8; 4] = step.op.params()[*offset..offset + 4].try_into().map_err(|_| std::fmt::Error)?;
                match *ty {
                    "f32" => write!(params, " {name}={}", f32::from_le_bytes(word))?,
                    _ => write!(params, " {name}={}", u32::from_le_bytes(word))?,
                }
            }
            writeln!(f, "{} <- {}({}){params}", names(&step.outputs), step.op.name(), names(&step.inputs))?;
        }
        Ok(())
    }
}
