//! What a reference closure sees: the inputs of a set, and the outputs to fill.
//!
//! Owns the outputs while the closure runs and notes what it touched. It never judges what was written.

use std::cell::{Cell, RefCell, RefMut};

use fsr_protocol::{BufferInfo, BufferRole};

use crate::bytes::AlignedBytes;
use crate::{Element, Readable, Scalar, Writable};

/// The host side of one set, lent to [`Case::reference`](crate::Case::reference).
///
/// Its methods panic on a handle of another case, or when one output is borrowed twice at a time; such a panic is
/// reported as a fault in the host launch code.
pub struct Cpu<'a> {
    buffers: &'a [BufferInfo],
    inputs: &'a [Option<&'a [u8]>],
    outputs: Vec<Option<RefCell<AlignedBytes>>>,
    written: Vec<Cell<bool>>,
    least_scale: Vec<Cell<f64>>,
}

/// What a reference closure made of one output.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) values: AlignedBytes,
    pub(crate) written: bool,
    pub(crate) least_scale: f64,
}

impl<'a> Cpu<'a> {
    pub(crate) fn new(buffers: &'a [BufferInfo], inputs: &'a [Option<&'a [u8]>]) -> Self {
        let outputs = buffers.iter().zip(inputs).map(|(info, input)| match (info.role, input) {
            (BufferRole::Input, _) => None,
            (BufferRole::InOut, Some(initial)) => Some(RefCell::new(AlignedBytes::copied(initial))),
            _ => Some(RefCell::new(AlignedBytes::poisoned(info.bytes() as usize))),
        });
        Self {
            buffers,
            inputs,
            outputs: outputs.collect(),
            written: buffers.iter().map(|_| Cell::new(false)).collect(),
            least_scale: buffers.iter().map(|_| Cell::new(0.0)).collect(),
        }
    }

    /// The initial content of an input or in-out, row-major.
    pub fn read<B: Readable>(&self, buffer: B) -> &[B::Element] {
        match self.inputs.get(buffer.position()) {
            Some(Some(bytes)) => bytemuck::cast_slice(bytes),
            _ => foreign(),
        }
    }

    /// The result of an output or in-out to fill, row-major. An output holds NaN (or all bits set) at first, an in-out
    /// its initial content.
    pub fn write<B: Writable>(&self, buffer: B) -> RefMut<'_, [B::Element]> {
        let position = buffer.position();
        let Some(Some(output)) = self.outputs.get(position) else { foreign() };
        let Ok(values) = output.try_borrow_mut() else {
            panic!("output `{}` is borrowed twice at a time", self.buffers[position].name);
        };
        self.written[position].set(true);
        RefMut::map(values, |values| values.elements_mut())
    }

    /// The value of a scalar in this set.
    pub fn scalar<T: Element>(&self, scalar: Scalar<T>) -> T {
        match self.inputs.get(scalar.position()) {
            Some(Some(bytes)) => bytemuck::pod_read_unaligned(bytes),
            _ => foreign(),
        }
    }

    /// Says that an output may deviate as if each element were at least this large.
    ///
    /// For results that cancel: the sum of numbers of either sign can come out near zero, and a correct kernel errs by
    /// a fraction of the terms, not of the sum. Give the root of the sum of the squared terms then.
    pub fn scale_at_least(&self, output: impl Writable, scale: f64) {
        match self.least_scale.get(output.position()) {
            Some(least) => least.set(scale.abs()),
            None => foreign(),
        }
    }

    pub(crate) fn finish(self) -> Vec<Option<Filled>> {
        let notes = self.written.iter().zip(&self.least_scale);
        let filled = self.outputs.into_iter().zip(notes).map(|(values, (written, scale))| {
            let values = values?.into_inner();
            Some(Filled { values, written: written.get(), least_scale: scale.get() })
        });
        filled.collect()
    }
}

fn foreign() -> ! {
    panic!("a handle of another case is used")
}
