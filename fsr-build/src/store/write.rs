//! Writing an entry so that a crash at any point leaves the old one or the new one.
//!
//! Three files cannot be renamed at once, so the manifest decides. It holds the digests of the other two, and a
//! reader takes for each of them the file in its place or the one staged beside it, whichever has the digest:
//!
//! 1. stage `<arch>.ptx.new` and `<arch>.cu.new`, then `<arch>.toml.new`; fsync each; read all three back;
//! 2. rename `<arch>.toml.new` to `<arch>.toml`. **This is the commit.** Before it the old manifest meets the old
//!    files in their places; after it the new manifest meets the new files, staged as yet;
//! 3. rename the staged PTX and source into their places.
//!
//! A writer that finds staged files first ends what a killed one began ([`recover`]): it would otherwise write
//! over the files that a committed manifest needs. Two writers at once are the caller's to prevent, by a lock.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::error::WriteError;
use super::manifest::{Manifest, PtxHeader};
use super::{Entry, EntryPaths, FOLDER, read_entry};
use crate::digest::Digest;

const GITATTRIBUTES: &str = "\
# Written by cargo fsr. Manifests hold digests of the files beside them.
* text eol=lf
*.ptx linguist-generated=true
";

/// The name under which a file is staged.
pub(super) fn staged(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Writes an entry, in place of the one that may be there.
///
/// A crash at any point leaves the old entry or the new one. An error leaves the old one, unless it says that
/// the file could not be renamed after the commit: then the new one is readable and [`recover`] ends the job.
///
/// # Errors
/// When the entry breaks a promise of the store, or the file system refuses.
pub fn write_entry(paths: &EntryPaths, entry: &Entry) -> Result<(), WriteError> {
    fit(entry)?;
    for step in STEPS {
        if let Err(error) = perform(step, paths, entry) {
            if (Step::Folder..Step::PlacePtx).contains(&step) {
                discard_staged(paths);
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Ends what a killed writer began, or clears away what it had only staged. Without leftovers it does nothing.
///
/// # Errors
/// When the file system refuses.
pub fn recover(paths: &EntryPaths) -> Result<(), WriteError> {
    let files = [&paths.ptx, &paths.source];
    if !files.into_iter().chain([&paths.manifest]).any(|file| staged(file).exists()) {
        return Ok(());
    }
    // What cannot be read is no reason to keep half of something.
    let manifest = fs::read_to_string(&paths.manifest).ok().and_then(|text| Manifest::from_toml(&text).ok());
    let digests = manifest.map(|manifest| [manifest.ptx_sha256, manifest.source_sha256]);
    for (at, file) in files.into_iter().enumerate() {
        let staged = staged(file);
        let wanted = digests.map(|digests| digests[at]);
        let has = |file: &Path| fs::read(file).is_ok_and(|bytes| Some(Digest::of_text(&bytes)) == wanted);
        if has(&staged) && !has(file) {
            rename(&staged, file)?;
        } else {
            remove(&staged)?;
        }
    }
    remove(&staged(&paths.manifest))?;
    sync_folder(paths.folder())
}

/// Removes an entry, manifest first, and its folder if that is empty then.
///
/// # Errors
/// When the file system refuses.
pub fn remove_entry(paths: &EntryPaths) -> Result<(), WriteError> {
    for file in [&paths.manifest, &paths.ptx, &paths.source] {
        remove(file)?;
        remove(&staged(file))?;
    }
    // Other architectures may live there: only an empty folder goes.
    let _ = fs::remove_dir(paths.folder());
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Recover,
    Folder,
    StagePtx,
    StageSource,
    StageManifest,
    ReadBack,
    Commit,
    PlacePtx,
    PlaceSource,
}

const STEPS: [Step; 9] = [
    Step::Recover,
    Step::Folder,
    Step::StagePtx,
    Step::StageSource,
    Step::StageManifest,
    Step::ReadBack,
    Step::Commit,
    Step::PlacePtx,
    Step::PlaceSource,
];

fn perform(step: Step, paths: &EntryPaths, entry: &Entry) -> Result<(), WriteError> {
    match step {
        Step::Recover => recover(paths),
        Step::Folder => make_folder(paths),
        Step::StagePtx => stage(&paths.ptx, &entry.ptx),
        Step::StageSource => stage(&paths.source, &entry.source),
        Step::StageManifest => stage(&paths.manifest, &entry.manifest.to_toml()),
        Step::ReadBack => read_back(paths, entry),
        Step::Commit => {
            // The staged names have to be on the disk before a manifest relies on them.
            sync_folder(paths.folder())?;
            place(&paths.manifest)
        }
        Step::PlacePtx => place(&paths.ptx),
        Step::PlaceSource => place(&paths.source),
    }
}

fn make_folder(paths: &EntryPaths) -> Result<(), WriteError> {
    let folder = paths.folder();
    fs::create_dir_all(folder).map_err(|error| io_error("create", folder, error))?;
    let Some(store) = folder.parent().filter(|store| store.file_name().is_some_and(|name| name == FOLDER))
    else {
        return Ok(());
    };
    let attributes = store.join(".gitattributes");
    // A project may have its own lines there.
    if !attributes.exists() {
        stage(&attributes, GITATTRIBUTES)?;
        place(&attributes)?;
    }
    sync_folder(store)
}

fn stage(file: &Path, text: &str) -> Result<(), WriteError> {
    let path = staged(file);
    let write = || -> io::Result<()> {
        let mut file = File::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| io_error("write", &path, error))
}

fn read_back(paths: &EntryPaths, entry: &Entry) -> Result<(), WriteError> {
    let aside = EntryPaths {
        manifest: staged(&paths.manifest),
        ptx: staged(&paths.ptx),
        source: staged(&paths.source),
    };
    match read_entry(&aside) {
        Ok(read) if &read == entry => Ok(()),
        _ => Err(WriteError::ReadBack { path: aside.manifest }),
    }
}

fn place(file: &Path) -> Result<(), WriteError> {
    rename(&staged(file), file)?;
    sync_folder(file.parent().unwrap_or(Path::new("")))
}

fn rename(from: &Path, to: &Path) -> Result<(), WriteError> {
    fs::rename(from, to).map_err(|error| io_error("rename a staged file to", to, error))
}

fn remove(file: &Path) -> Result<(), WriteError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", file, error)),
        _ => Ok(()),
    }
}

fn discard_staged(paths: &EntryPaths) {
    for file in [&paths.ptx, &paths.source, &paths.manifest] {
        // The error that led here is the one to tell; leftovers do no harm.
        let _ = fs::remove_file(staged(file));
    }
}

/// Makes renames in a folder last. Windows has no such call and needs none.
fn sync_folder(folder: &Path) -> Result<(), WriteError> {
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| io_error("sync", folder, error))?;
    }
    Ok(())
}

fn io_error(action: &'static str, path: &Path, error: io::Error) -> WriteError {
    WriteError::Io { action, path: path.to_owned(), error }
}

/// Everything that a stored entry promises and that can be seen without a compiler.
fn fit(entry: &Entry) -> Result<(), WriteError> {
    let manifest = &entry.manifest;
    let unfit = |reason: String| Err(WriteError::Unfit { reason });
    for (name, text) in [("PTX", &entry.ptx), ("source", &entry.source)] {
        if text.contains('\0') || text.contains("\r\n") {
            return unfit(format!("the {name} has NUL bytes or CRLF line endings"));
        }
    }
    if Digest::of_bytes(entry.ptx.as_bytes()) != manifest.ptx_sha256
        || Digest::of_bytes(entry.source.as_bytes()) != manifest.source_sha256
    {
        return unfit("the manifest has the digests of other files".to_owned());
    }
    let stated = PtxHeader { isa: manifest.ptx.isa, target: manifest.ptx.target };
    match PtxHeader::read(&entry.ptx) {
        Some(header) if header == stated && header.target == manifest.arch => {}
        Some(header) => {
            return unfit(format!(
                "the PTX is version {} for {}, not as its manifest says",
                header.isa, header.target
            ));
        }
        None => return unfit("the PTX does not begin with `.version` and `.target`".to_owned()),
    }
    let words = [&manifest.compiler.name, &manifest.compiler.version, &manifest.run]
        .into_iter()
        .chain(&manifest.compiler.flags)
        .chain(&manifest.model)
        .chain(manifest.device.as_ref().map(|device| &device.name));
    for word in words {
        if has_absolute_path(word) {
            return unfit(format!("`{word}` has an absolute path, which is no business of a published file"));
        }
    }
    match Manifest::from_toml(&manifest.to_toml()) {
        Ok(read) if &read == manifest => Ok(()),
        Ok(_) => unfit("the manifest does not read back as itself".to_owned()),
        Err(error) => unfit(format!("the manifest does not read back: {error}")),
    }
}

/// Whether a word is an absolute path, or an option such as `-I/usr` or `--path=C:\x` with one.
fn has_absolute_path(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    let value = value.strip_prefix("-I").unwrap_or(value);
    let drive = matches!(value.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    value.starts_with('/') || value.starts_with("\\\\") || drive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::store::ReadError;

    struct Place {
        folder: tempfile::TempDir,
        paths: EntryPaths,
        old: Entry,
        new: Entry,
    }

    fn place_of_entry() -> Place {
        let folder = fixture::package();
        let spec = fixture::spec(folder.path());
        let arch = fixture::arch("sm_80");
        let entry = |mark| fixture::entry(&spec, fixture::kernel(&spec), arch, mark);
        let paths = EntryPaths::in_package(folder.path(), "transpose", arch);
        Place { paths, old: entry("old"), new: entry("new"), folder }
    }

    fn files(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_entry_reads_back_and_leaves_nothing_else() {
        let place = place_of_entry();
        write_entry(&place.paths, &place.old).unwrap();
        write_entry(&place.paths, &place.new).unwrap();
        assert_eq!(read_entry(&place.paths).unwrap(), place.new);
        assert_eq!(files(place.paths.folder()), ["sm_80.cu", "sm_80.ptx", "sm_80.toml"]);
        assert_eq!(files(&place.folder.path().join("fsr")), [".gitattributes", "transpose"]);
    }

    /// What a reader sees when the writer dies after `steps` steps, the next one half done.
    fn killed_after(steps: usize, place: &Place) {
        for step in &STEPS[..steps] {
            perform(*step, &place.paths, &place.new).unwrap();
        }
        let half = |file: &Path, text: &str| fs::write(staged(file), &text[..text.len() / 2]).unwrap();
        match STEPS.get(steps) {
            Some(Step::StagePtx) => half(&place.paths.ptx, &place.new.ptx),
            Some(Step::StageSource) => half(&place.paths.source, &place.new.source),
            Some(Step::StageManifest) => half(&place.paths.manifest, &place.new.manifest.to_toml()),
            _ => {}
        }
    }

    fn commit_at() -> usize {
        STEPS.iter().position(|step| *step == Step::Commit).unwrap()
    }

    #[test]
    fn a_crash_at_any_step_leaves_the_old_entry_or_the_new_one() {
        for steps in 0..=STEPS.len() {
            let place = place_of_entry();
            write_entry(&place.paths, &place.old).unwrap();
            killed_after(steps, &place);
            let expected = if steps > commit_at() { &place.new } else { &place.old };
            assert_eq!(&read_entry(&place.paths).unwrap(), expected, "killed after {steps} steps");

            recover(&place.paths).unwrap();
            assert_eq!(&read_entry(&place.paths).unwrap(), expected, "recovered after {steps} steps");
            assert_eq!(files(place.paths.folder()), ["sm_80.cu", "sm_80.ptx", "sm_80.toml"]);
        }
    }

    #[test]
    fn a_crash_of_the_first_write_leaves_no_entry_or_the_new_one() {
        for steps in 0..=STEPS.len() {
            let place = place_of_entry();
            killed_after(steps, &place);
            match read_entry(&place.paths) {
                Ok(entry) if steps > commit_at() => assert_eq!(entry, place.new),
                Err(ReadError::Missing { .. }) if steps <= commit_at() => {}
                other => panic!("killed after {steps} steps: {other:?}"),
            }
        }
    }

    #[test]
    fn a_second_writer_killed_after_a_killed_one_loses_nothing() {
        for first in commit_at() + 1..STEPS.len() {
            for second in 0..=commit_at() {
                let mut place = place_of_entry();
                write_entry(&place.paths, &place.old).unwrap();
                killed_after(first, &place);
                let committed = place.new.clone();
                place.new = place.old.clone();
                killed_after(second, &place);
                assert_eq!(read_entry(&place.paths).unwrap(), committed, "{first}, then {second} steps");
            }
        }
    }

    #[test]
    fn a_refused_write_leaves_no_leftovers() {
        let place = place_of_entry();
        // A folder where the manifest should go: the commit is refused.
        fs::create_dir_all(place.paths.manifest.join("in the way")).unwrap();
        let error = write_entry(&place.paths, &place.new).unwrap_err();
        assert!(error.to_string().starts_with("cannot rename a staged file to "), "{error}");
        assert_eq!(files(place.paths.folder()), ["sm_80.toml"]);
    }

    #[test]
    fn a_refused_write_leaves_the_old_entry() {
        let place = place_of_entry();
        write_entry(&place.paths, &place.old).unwrap();
        fs::create_dir(staged(&place.paths.source)).unwrap();
        let error = write_entry(&place.paths, &place.new).unwrap_err();
        assert!(error.to_string().starts_with("cannot "), "{error}");
        assert_eq!(read_entry(&place.paths).unwrap(), place.old);
    }

    #[test]
    fn a_reader_never_meets_a_mixture() {
        use std::sync::atomic::{AtomicBool, Ordering};

        let place = place_of_entry();
        write_entry(&place.paths, &place.old).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..15 {
                    write_entry(&place.paths, &place.new).unwrap();
                    write_entry(&place.paths, &place.old).unwrap();
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                let entry = read_entry(&place.paths).unwrap();
                assert!(entry == place.old || entry == place.new);
            }
        });
    }

    #[test]
    fn what_breaks_a_promise_is_not_stored() {
        let place = place_of_entry();
        let refused = |change: &dyn Fn(&mut Entry)| {
            let mut entry = place.new.clone();
            change(&mut entry);
            let error = write_entry(&place.paths, &entry).unwrap_err();
            assert!(!place.paths.manifest.exists());
            error.to_string()
        };
        let reasons = [
            refused(&|entry| entry.ptx.push(' ')),
            refused(&|entry| *entry = Entry::new(entry.manifest.clone(), "nonsense", "")),
            refused(&|entry| *entry = Entry::new(entry.manifest.clone(), "\0", "")),
            refused(&|entry| entry.manifest.arch = fixture::arch("sm_90a")),
            refused(&|entry| entry.manifest.compiler.flags.push("-I/opt/cuda/include".to_owned())),
            refused(&|entry| entry.manifest.model = Some("C:\\models\\x".to_owned())),
            refused(&|entry| entry.manifest.validated[0].max_abs_error = f64::NAN),
        ];
        let reasons = reasons.join("\n").replace("the entry cannot be stored: ", "");
        insta::assert_snapshot!(reasons, @r"
        the manifest has the digests of other files
        the PTX does not begin with `.version` and `.target`
        the PTX has NUL bytes or CRLF line endings
        the PTX is version 8.7 for sm_80, not as its manifest says
        `-I/opt/cuda/include` has an absolute path, which is no business of a published file
        `C:\models\x` has an absolute path, which is no business of a published file
        the manifest does not read back: 78:17: `validated.max-abs-error`: must be a number that is not negative
        ");
    }

    #[test]
    fn removing_an_entry_keeps_the_other_architectures() {
        let place = place_of_entry();
        write_entry(&place.paths, &place.old).unwrap();
        fs::write(place.paths.folder().join("sm_90a.toml"), "").unwrap();
        remove_entry(&place.paths).unwrap();
        assert_eq!(files(place.paths.folder()), ["sm_90a.toml"]);
    }

    #[test]
    fn a_projects_own_gitattributes_stay() {
        let place = place_of_entry();
        fixture::write(place.folder.path(), "fsr/.gitattributes", "# ours\n");
        write_entry(&place.paths, &place.old).unwrap();
        assert_eq!(fs::read_to_string(place.folder.path().join("fsr/.gitattributes")).unwrap(), "# ours\n");
    }
}
