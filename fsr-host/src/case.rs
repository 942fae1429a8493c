//! One problem size as the host launch code declares it: buffers, values, launch and reference.
//!
//! Owns the typed handles and the record that both roles work from. It never holds data and never touches a device.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::marker::PhantomData;
use std::path::Path;

use fsr_protocol::{BufferInfo, BufferRole, CaseInfo};

use crate::raw::{MapError, MappedMut};
use crate::{Cpu, Element, Gpu, Rng, Values};

/// A buffer that the kernel only reads.
#[derive(Debug)]
pub struct Input<T>(usize, PhantomData<T>);

/// A buffer that the kernel writes whole. It holds NaN, or all bits set, before each launch.
#[derive(Debug)]
pub struct Output<T>(usize, PhantomData<T>);

/// A buffer that the kernel reads and writes. Its initial content is restored before each launch.
#[derive(Debug)]
pub struct InOut<T>(usize, PhantomData<T>);

/// A value that the launch passes to the kernel itself, drawn anew for every set.
#[derive(Debug)]
pub struct Scalar<T>(usize, PhantomData<T>);

/// A handle of a device buffer: [`Input`], [`Output`] or [`InOut`].
pub trait Buffer: Copy + sealed::Sealed {
    /// Type of its elements.
    type Element: Element;
    /// Position among the buffers of its case.
    #[doc(hidden)]
    fn position(self) -> usize;
}

/// A handle whose initial content the reference can read: [`Input`] or [`InOut`].
pub trait Readable: Buffer {}

/// A handle that the kernel writes: [`Output`] or [`InOut`].
pub trait Writable: Buffer {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! handles {
    ($($handle:ident)*) => {$(
        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $handle<T> {}
    )*};
}
handles!(Input Output InOut Scalar);

macro_rules! buffers {
    ($($handle:ident)*) => {$(
        impl<T> sealed::Sealed for $handle<T> {}
        impl<T: Element> Buffer for $handle<T> {
            type Element = T;
            fn position(self) -> usize {
                self.0
            }
        }
    )*};
}
buffers!(Input Output InOut);

impl<T: Element> Readable for Input<T> {}
impl<T: Element> Readable for InOut<T> {}
impl<T: Element> Writable for Output<T> {}
impl<T: Element> Writable for InOut<T> {}

impl<T> Scalar<T> {
    pub(crate) fn position(self) -> usize {
        self.0
    }
}

/// Why a launch closure gave up: any error converts into it with `?`.
#[derive(Debug)]
pub struct LaunchError(String);

impl LaunchError {
    /// An error in words.
    pub fn new(message: impl Display) -> Self {
        Self(message.to_string())
    }

    pub(crate) fn into_message(self) -> String {
        self.0
    }
}

impl<E: std::error::Error> From<E> for LaunchError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Self(message)
    }
}

pub(crate) type LaunchFn = Box<dyn Fn(&Gpu<'_>) -> Result<(), LaunchError>>;
pub(crate) type ReferenceFn = Box<dyn Fn(&Cpu<'_>)>;
type FillFn = dyn Fn(&mut [u8], u64);
type RedrawFn = dyn Fn(&mut [u8], usize, u64, u64) -> bool;

/// How the initial content of a buffer comes about.
struct Filling {
    /// From the set's seed.
    fill: Box<FillFn>,
    /// Draws the element at a position anew, from the set's seed and a draw of its own; false where it stays.
    redraw: Box<RedrawFn>,
}

/// What a problem size is declared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Timed, and validated too.
    Time,
    /// Validated only.
    Check,
    /// Validated only, and drawn for this run.
    Drawn,
}

/// One problem size under declaration.
///
/// The order of the calls does not matter, except that handles come before the closures that capture them.
pub struct Case {
    name: String,
    dims: Vec<(String, u64)>,
    timed: bool,
    drawn: bool,
    buffers: Vec<BufferInfo>,
    terms: BTreeMap<usize, u64>,
    fillings: Vec<Option<Filling>>,
    work_bytes: Option<u64>,
    work_flops: u64,
    launch: Option<LaunchFn>,
    reference: Option<ReferenceFn>,
    fault: Option<String>,
}

impl Case {
    pub(crate) fn new(dims: &[&str], sizes: &[usize], purpose: Purpose) -> Self {
        let dims: Vec<(String, u64)> =
            dims.iter().zip(sizes).map(|(dim, size)| (dim.to_string(), *size as u64)).collect();
        let name = dims.iter().map(|(dim, size)| format!("{dim}={size}")).collect::<Vec<_>>().join(" ");
        Self {
            name: if name.is_empty() { "only".to_owned() } else { name },
            dims,
            timed: purpose == Purpose::Time,
            drawn: purpose == Purpose::Drawn,
            buffers: Vec::new(),
            terms: BTreeMap::new(),
            fillings: Vec::new(),
            work_bytes: None,
            work_flops: 0,
            launch: None,
            reference: None,
            fault: None,
        }
    }

    /// An input of the given row-major shape, filled from [`Values::mix`].
    pub fn input<T: Element>(&mut self, name: &str, shape: impl AsRef<[usize]>) -> Input<T> {
        self.input_from(name, shape, Values::mix())
    }

    /// An input filled from values that the host code chooses.
    pub fn input_from<T: Element>(
        &mut self,
        name: &str,
        shape: impl AsRef<[usize]>,
        values: Values<T>,
    ) -> Input<T> {
        Input(self.declare(name, BufferRole::Input, shape.as_ref(), Some(values)), PhantomData)
    }

    /// An output of the given row-major shape; every element must be written.
    pub fn output<T: Element>(&mut self, name: &str, shape: impl AsRef<[usize]>) -> Output<T> {
        Output(self.declare::<T>(name, BufferRole::Output, shape.as_ref(), None), PhantomData)
    }

    /// A buffer that is read and written, with an initial content from [`Values::mix`].
    pub fn in_out<T: Element>(&mut self, name: &str, shape: impl AsRef<[usize]>) -> InOut<T> {
        self.in_out_from(name, shape, Values::mix())
    }

    /// A buffer that is read and written, with an initial content that the host code chooses.
    pub fn in_out_from<T: Element>(
        &mut self,
        name: &str,
        shape: impl AsRef<[usize]>,
        values: Values<T>,
    ) -> InOut<T> {
        InOut(self.declare(name, BufferRole::InOut, shape.as_ref(), Some(values)), PhantomData)
    }

    /// A number that differs from set to set, so that no kernel can rely on one value. It lives on the host:
    /// [`Gpu::scalar`] and [`Cpu::scalar`] read it.
    pub fn scalar<T: Element>(&mut self, name: &str, values: Values<T>) -> Scalar<T> {
        Scalar(self.declare(name, BufferRole::Input, &[], Some(values)), PhantomData)
    }

    /// Bytes that any correct kernel must move between device memory and the chip. By default every input and output
    /// once, in-outs twice.
    pub fn work_bytes(&mut self, bytes: usize) {
        self.work_bytes = Some(bytes as u64);
    }

    /// Operations that any correct kernel must do, a fused multiply-add counting as two. By default none are declared.
    pub fn work_flops(&mut self, flops: usize) {
        self.work_flops = flops as u64;
    }

    /// Says from how many terms each element of an output is accumulated: 1 for elementwise work, K for a product of
    /// matrices. The default tolerance then follows it, see [`default_tolerance`](crate::default_tolerance): tighter for
    /// few terms, wider for very many. Where sums can cancel, [`Cpu::scale_at_least`] has to say how large their terms are.
    pub fn accumulates(&mut self, output: impl Writable, terms: usize) {
        self.terms.insert(output.position(), terms as u64);
    }

    /// How the library launches the kernel: the same function that it ships. The closure runs once for each launch,
    /// between two events on [`Gpu::stream`]; it must enqueue everything there and need not wait.
    pub fn launch(&mut self, launch: impl Fn(&Gpu<'_>) -> Result<(), LaunchError> + 'static) {
        if self.launch.replace(Box::new(launch)).is_some() {
            self.blame("`launch` is given twice");
        }
    }

    /// The trusted result, computed on the CPU: plain code, `f64` inside where sums are long. It must fill every
    /// output; a NaN there is an error.
    pub fn reference(&mut self, reference: impl Fn(&Cpu<'_>) + 'static) {
        if self.reference.replace(Box::new(reference)).is_some() {
            self.blame("`reference` is given twice");
        }
    }

    fn declare<T: Element>(
        &mut self,
        name: &str,
        role: BufferRole,
        shape: &[usize],
        values: Option<Values<T>>,
    ) -> usize {
        let position = self.buffers.len();
        if self.buffers.iter().any(|buffer| buffer.name == name) {
            self.blame(&format!("two buffers are named `{name}`"));
        }
        // Nothing to do is something to do right, where the host code gives such a size itself.
        if shape.contains(&0) && !self.dims.iter().any(|(_, size)| *size == 0) {
            self.blame(&format!("buffer `{name}` has no elements: its shape is {shape:?}"));
        }
        let bytes = shape.iter().try_fold(T::DTYPE.size(), |bytes, extent| bytes.checked_mul(*extent));
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            self.blame(&format!("buffer `{name}` of shape {shape:?} does not fit into memory"));
        }
        self.buffers.push(BufferInfo {
            name: name.to_owned(),
            role,
            dtype: T::DTYPE,
            shape: shape.iter().map(|extent| *extent as u64).collect(),
        });
        self.fillings.push(values.map(|values| {
            let same = values.clone();
            Filling {
                fill: Box::new(move |bytes, seed| {
                    values.fill(bytemuck::cast_slice_mut::<u8, T>(bytes), seed, position);
                }),
                redraw: Box::new(move |bytes, at, seed, draw| {
                    same.redraw(bytemuck::cast_slice_mut::<u8, T>(bytes), at, seed, position, draw)
                }),
            }
        }));
        position
    }

    fn blame(&mut self, fault: &str) {
        self.fault.get_or_insert_with(|| fault.to_owned());
    }

    /// Closes the declaration, or says what is wrong with it.
    pub(crate) fn finish(self) -> Result<DeclaredCase, String> {
        let case = self.name;
        let fault = self.fault.or_else(|| {
            let output = self.buffers.iter().any(|buffer| buffer.role != BufferRole::Input);
            (!output).then(|| "no output is declared: call `output` or `in_out`".to_owned())
        });
        if let Some(fault) = fault {
            return Err(format!("case `{case}`: {fault}"));
        }
        let missing = |what: &str| format!("case `{case}`: `{what}` is missing");
        let launch = self.launch.ok_or_else(|| missing("launch"))?;
        let reference = self.reference.ok_or_else(|| missing("reference"))?;
        let moved = |buffer: &BufferInfo| match buffer.role {
            _ if buffer.is_scalar() => 0,
            BufferRole::InOut => 2 * buffer.bytes(),
            _ => buffer.bytes(),
        };
        let work_bytes = self.work_bytes.unwrap_or_else(|| self.buffers.iter().map(moved).sum());
        Ok(DeclaredCase {
            info: CaseInfo {
                name: case,
                dims: self.dims,
                timed: self.timed,
                drawn: self.drawn,
                buffers: self.buffers,
                work_bytes,
                work_flops: self.work_flops,
            },
            terms: self.terms,
            fillings: self.fillings,
            launch,
            reference,
        })
    }
}

/// A complete problem size.
pub(crate) struct DeclaredCase {
    pub(crate) info: CaseInfo,
    /// Terms that an element of a buffer is accumulated from, where that is known.
    pub(crate) terms: BTreeMap<usize, u64>,
    fillings: Vec<Option<Filling>>,
    pub(crate) launch: LaunchFn,
    pub(crate) reference: ReferenceFn,
}

impl DeclaredCase {
    /// Makes the initial content of one buffer, in a file; `None` for a pure output.
    pub(crate) fn fill(&self, buffer: usize, seed: u64, path: &Path) -> Result<Option<MappedMut>, MapError> {
        let Some(filling) = &self.fillings[buffer] else { return Ok(None) };
        let mut file = MappedMut::open(path, self.info.buffers[buffer].bytes())?;
        (filling.fill)(file.bytes_mut(), seed);
        Ok(Some(file))
    }

    /// Draws one element of one buffer anew. `made` holds the content that a set's `seed` gave, one a buffer; `draw`
    /// decides which element it is and what it becomes. Scalars and what the host code made itself stay.
    pub(crate) fn change_one(&self, made: &mut [Option<MappedMut>], seed: u64, draw: u64) {
        let of_elements = |buffer: &usize| {
            let info = &self.info.buffers[*buffer];
            made[*buffer].is_some() && !info.is_scalar() && !info.is_empty()
        };
        let mut buffers: Vec<usize> = (0..made.len()).filter(of_elements).collect();
        let mut rng = Rng::new(draw, made.len(), 0);
        while !buffers.is_empty() {
            let buffer = buffers.swap_remove(rng.below(buffers.len() as u64) as usize);
            let at = rng.below(self.info.buffers[buffer].len()) as usize;
            if let (Some(filling), Some(file)) = (&self.fillings[buffer], &mut made[buffer])
                && (filling.redraw)(file.bytes_mut(), at, seed, draw)
            {
                return;
            }
        }
    }
}
