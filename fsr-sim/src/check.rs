//! What can be wrong with a kernel, and how it is told. Nothing here decides; `exec` does.

use crate::memory::BufferKind;
use crate::parse::Space;

/// How much is checked while a kernel runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Only what would crash on hardware: illegal addresses end the launch, nothing else is looked at.
    Off,
    /// Out-of-bounds and misaligned accesses, barriers that can never complete.
    #[default]
    Bounds,
    /// Also uninitialised reads, races, divergent barriers, missing waits and wrong member masks.
    Full,
}

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside every buffer, or beyond the end of its own.
    OutOfBounds,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// A store to constant memory.
    ReadOnly,
    /// A load of bytes that nothing has written.
    Uninitialised,
    /// Two accesses to the same bytes, at least one a write, not ordered by a barrier.
    Race {
        /// The thread that made the earlier access, where it is known.
        other: Option<[u32; 3]>,
        /// Its block, when the race is between blocks.
        other_block: Option<[u32; 3]>,
        /// PTX line of the earlier access; 0 when unknown.
        other_line: u32,
    },
    /// A barrier that only some lanes of a warp reach together.
    DivergentBarrier,
    /// Threads wait at a barrier that can no longer complete.
    Deadlock,
    /// A `.sync` instruction whose member mask names lanes that never come.
    MemberMask,
    /// An access to bytes that an asynchronous copy still writes, or a write to those that it still reads.
    MissingWait,
    /// `trap`.
    Trap,
    /// A failed `assert`.
    Assert(String),
    /// The launch executed more instructions than allowed: most likely it never ends.
    Budget(u64),
    /// Calls nested deeper than local memory allows.
    StackOverflow,
    /// A call through a value that is no function, or a branch index beyond its table.
    BadTarget,
    /// An instruction that is known only at run time to be beyond this device.
    Unsupported(String),
}

impl FaultKind {
    /// A stable, lower-case name.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::OutOfBounds => "out of bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::ReadOnly => "write to constant memory",
            FaultKind::Uninitialised => "uninitialised read",
            FaultKind::Race { .. } => "race",
            FaultKind::DivergentBarrier => "divergent barrier",
            FaultKind::Deadlock => "barrier never completes",
            FaultKind::MemberMask => "wrong member mask",
            FaultKind::MissingWait => "missing wait",
            FaultKind::Trap => "trap",
            FaultKind::Assert(_) => "assertion failed",
            FaultKind::Budget(_) => "instruction budget exhausted",
            FaultKind::StackOverflow => "stack overflow",
            FaultKind::BadTarget => "invalid call or branch target",
            FaultKind::Unsupported(_) => "unsupported",
        }
    }

    /// Whether the kernel cannot go on.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self,
            FaultKind::Uninitialised
                | FaultKind::Race { .. }
                | FaultKind::DivergentBarrier
                | FaultKind::MemberMask
                | FaultKind::MissingWait
        )
    }
}

/// The memory that a fault is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// State space of the access.
    pub space: Space,
    /// Address within that space.
    pub address: u64,
    /// Bytes accessed by the thread.
    pub bytes: u64,
    /// Whether it writes.
    pub write: bool,
    /// The buffer that the address belongs to, its length, and the offset within it: below 0 before its start.
    pub buffer: Option<(BufferKind, u64, i64)>,
}

/// One fault: what, where in the text, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// The instruction: `st.global.f32`.
    pub instruction: String,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// CUDA source file and line, when the PTX has line information.
    pub source: Option<(String, u32)>,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index within the block.
    pub thread: [u32; 3],
    /// The access, for faults of memory.
    pub access: Option<Access>,
    /// How often the same instruction did this; at least 1.
    pub occurrences: u64,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.kind.name())?;
        match &self.kind {
            FaultKind::Assert(text) => write!(f, " ({text})")?,
            FaultKind::Unsupported(name) => write!(f, " ({name})")?,
            FaultKind::Budget(count) => write!(f, " after {count} warp instructions")?,
            _ => {}
        }
        let [x, y, z] = self.thread;
        let [bx, by, bz] = self.block;
        write!(f, " in {} at ", self.kernel)?;
        if let Some((file, line)) = &self.source {
            write!(f, "{file}:{line}, ")?;
        }
        write!(f, "ptx line {}: {}", self.ptx_line, self.instruction)?;
        write!(f, " by thread ({x},{y},{z}) of block ({bx},{by},{bz})")?;
        if let Some(access) = &self.access {
            let verb = if access.write { "writes" } else { "reads" };
            write!(
                f,
                " {verb} {} bytes at {:#x} of {} memory",
                access.bytes,
                access.address,
                access.space.name()
            )?;
            match &access.buffer {
                Some((kind, length, offset)) if *offset < 0 => {
                    write!(
                        f,
                        ": {} bytes before the start of {kind} ({length} bytes)",
                        offset.unsigned_abs()
                    )?;
                }
                Some((kind, length, offset)) if offset.unsigned_abs() >= *length => {
                    let past = offset.unsigned_abs() - length;
                    write!(f, ": {past} bytes past the end of {kind} ({length} bytes)")?;
                }
                Some((kind, length, offset)) => write!(f, ": offset {offset} of {kind} ({length} bytes)")?,
                None if access.space == Space::Global => write!(f, ": no buffer there")?,
                None => {}
            }
        }
        if let FaultKind::Race { other, other_block, other_line } = &self.kind {
            write!(f, "; races with ")?;
            match other {
                Some([x, y, z]) => write!(f, "thread ({x},{y},{z})")?,
                None => write!(f, "another thread")?,
            }
            if let Some([x, y, z]) = other_block {
                write!(f, " of block ({x},{y},{z})")?;
            }
            if *other_line != 0 {
                write!(f, " at ptx line {other_line}")?;
            }
        }
        if self.occurrences > 1 {
            write!(f, " ({} times)", self.occurrences)?;
        }
        Ok(())
    }
}

/// All faults of a launch: at least one; at most one for each instruction and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// In order of kernel text; a fatal one first.
    pub all: Vec<Fault>,
}

impl Faults {
    /// The one that ended the launch, else the first in the text.
    pub fn first(&self) -> &Fault {
        &self.all[0]
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (k, fault) in self.all.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}
