//! Devices and forms of kernels for programs that store numbers in 16 bits. Few ask for them: the features that they need are
//! enabled on a device of their own, so that no other program runs on anything new.

use super::device::{Gpu, cpu, found, locked, open_adapter};
use super::matrices::Matrix;
use super::variants::{Form, Variant, beyond, form, most_bytes};
use crate::error::{Cure, Error, Result, either};
use crate::ops::{Forms, Op};
use crate::program::{Element, Program, Step};
use std::sync::Arc;

/// What kernels with halves need of an adapter, and those on matrix units.
pub(super) const HALVES: wgpu::Features = wgpu::Features::SHADER_F16;
pub(super) const MATRICES: wgpu::Features =
    HALVES.union(wgpu::Features::SUBGROUP).union(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);

/// Of halves with sums in f32, the larger of what wgpu knows, squares of 16 and of 8. On Vulkan alone, where their kernels were run.
pub(super) fn matrix_side(adapter: &wgpu::Adapter) -> u32 {
    if adapter.get_info().backend != wgpu::Backend::Vulkan || !adapter.features().contains(MATRICES) {
        return 0;
    }
    let all = adapter.cooperative_matrix_properties();
    let has = |side: u32| {
        all.iter().any(|m| {
            (m.m_size, m.n_size, m.k_size) == (side, side, side)
                && m.ab_type == wgpu::CooperativeScalarType::F16
                && m.cr_type == wgpu::CooperativeScalarType::F32
        })
    };
    [16, 8].into_iter().find(|side| has(*side)).unwrap_or(0)
}

/// The form on matrix units with squares of `side`, in subgroups of `lanes` at most, where it is a product of two operands as they
/// are stored: the fused ones make theirs on the way.
pub fn on_matrices(op: &Op, mut form: Form, side: u32, lanes: u32) -> Form {
    let is_product = match op.forms() {
        Forms::Tiled { entry, .. } => entry != op.name(),
        Forms::SplitGradient { .. } => true,
        _ => false,
    };
    let kernel = &mut form.kernels[0];
    kernel.matrix = kernel.tile.filter(|_| is_product).and_then(|tile| Matrix::of(tile, side, lanes));
    form
}

impl Gpu {
    /// The form of a step in a variant, or its plain one: on matrix units where the program and its operands are for them and
    /// the adapter's limits allow it.
    pub(super) fn form_of(&self, program: &Program, step: &Step, variant: Variant) -> Form {
        let form = form(&step.op, variant, most_bytes(&self.limits)).unwrap_or_else(|| Form::plain(&step.op));
        let is_of_halves = step.inputs.iter().take(2).all(|buf| program.info(*buf).kind == Element::Half);
        let (side, lanes) = (self.report().matrix_side, self.report().subgroup.1);
        if !program.matrices || !is_of_halves || side == 0 {
            return form;
        }
        let faster = on_matrices(&step.op, form.clone(), side, lanes);
        if beyond(&faster, &self.limits).is_none() { faster } else { form }
    }

    /// The device for a program: itself, or one with the features that halves or matrix units need.
    pub(super) fn of_program(self: Arc<Gpu>, program: &Program) -> Result<Arc<Gpu>> {
        let wanted = match (program.has_halves(), program.matrices) {
            (false, _) => return Ok(self),
            (true, false) => HALVES,
            (true, true) => MATRICES,
        };
        if self.device.features().contains(wanted) {
            return Ok(self);
        }
        let lacks = match (self.report.halves, program.matrices && self.report.matrix_side == 0) {
            (false, _) => Some("its driver has no numbers of 16 bits (f16) for kernels"),
            (true, true) => Some("its driver has no matrix units for f16 with sums in f32 (VK_KHR_cooperative_matrix)"),
            (true, false) => None,
        };
        if let Some(found) = lacks {
            let precision = if self.report.halves { "f16" } else { "f32" };
            let help = either(
                format!(
                    "take --precision {precision}, another card or driver (`vifo doctor` says what each has), or --device cpu"
                ),
                format!("take the precision {precision}, or train on the CPU"),
            );
            let cure = Cure::set("train.precision", format!("\"{precision}\""));
            return Err(Error::device(self.report.name.clone(), found, "", help).curing(cure));
        }
        let mut extended = locked(&self.extended);
        if let Some((_, gpu)) = extended.iter().find(|(features, _)| *features == wanted) {
            return Ok(gpu.clone());
        }
        let found = found().1.into_iter().find(|(report, _)| *report == self.report);
        let Some((report, adapter)) = found else {
            return Err(Error::device(self.report.name.clone(), "the adapter is not there any more", "", cpu()));
        };
        let mut gpu = open_adapter(report, &adapter, wanted)?;
        gpu.class = self.class;
        let gpu = Arc::new(gpu);
        extended.push((wanted, gpu.clone()));
        Ok(gpu)
    }
}
