//! Buffers after a launch, written to the shared folder.
//!
//! Owns the maps of the dump files, kept over launches and page-locked where the system allows it, so that the device
//! writes into them directly. It never reads what it writes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use fsr_protocol::{BufferInfo, BufferRole, CaseId, Dump, HostError, files};

use super::buffers::Guarded;
use super::{execution, harness};
use crate::fault::io;
use crate::raw::{Context, MappedMut, Pinned, Registered};

/// Size of the buffer that stands between where a map cannot be page-locked.
const BOUNCE: usize = 16 << 20;

/// Set on systems that page-lock maps of files and then write elsewhere.
const BOUNCE_ONLY: &str = "FSR_HOST_BOUNCE";

/// The dump files of this process.
#[derive(Default)]
pub(crate) struct Dumps {
    /// By slot, case and buffer.
    files: HashMap<(u64, CaseId, usize), Target>,
    bounce: Option<Pinned>,
}

enum Target {
    Direct(Registered),
    Bounced(MappedMut),
}

impl Dumps {
    /// Writes all outputs and in-outs, and the inputs when asked.
    pub(crate) fn write(
        &mut self,
        context: &Context,
        share: &Path,
        dump: Dump,
        case: CaseId,
        infos: &[BufferInfo],
        buffers: &[Option<Guarded>],
    ) -> Result<(), HostError> {
        let wanted = |info: &BufferInfo| dump.inputs || info.role != BufferRole::Input;
        let sources: Vec<(usize, &Guarded)> = infos
            .iter()
            .zip(buffers)
            .enumerate()
            .filter_map(|(position, (info, buffer))| {
                Some((position, buffer.as_ref().filter(|_| wanted(info))?))
            })
            .collect();
        for (position, buffer) in &sources {
            let key = (dump.slot, case, *position);
            if let Entry::Vacant(entry) = self.files.entry(key) {
                let path = files::dump(share, dump.slot, case, *position);
                let map = MappedMut::open(&path, buffer.range().len() as u64).map_err(io)?;
                let target = match std::env::var_os(BOUNCE_ONLY) {
                    Some(_) => Target::Bounced(map),
                    None => Registered::new(map).map_or_else(Target::Bounced, Target::Direct),
                };
                entry.insert(target);
            }
        }
        let mut direct = Vec::new();
        let mut bounced = Vec::new();
        for ((slot, of, position), target) in &mut self.files {
            let source =
                sources.iter().find(|(wanted, _)| (*slot, *of, position) == (dump.slot, case, wanted));
            let Some((_, buffer)) = source else { continue };
            match target {
                Target::Direct(map) => direct.push((&buffer.memory, buffer.range().start, map.bytes_mut())),
                Target::Bounced(map) => bounced.push((*buffer, map)),
            }
        }
        context.download(direct).map_err(execution)?;
        if bounced.is_empty() {
            return Ok(());
        }
        if self.bounce.is_none() {
            self.bounce = Some(context.pinned(BOUNCE).map_err(harness)?);
        }
        let Some(bounce) = &mut self.bounce else { return Ok(()) };
        for (buffer, map) in bounced {
            let mut start = buffer.range().start;
            for part in map.bytes_mut().chunks_mut(BOUNCE) {
                let staged = &mut bounce.bytes_mut()[..part.len()];
                context.download([(&buffer.memory, start, &mut *staged)]).map_err(execution)?;
                part.copy_from_slice(staged);
                start += part.len();
            }
        }
        Ok(())
    }
}
