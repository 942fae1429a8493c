//! Someone with a text editor as a model: prompts lie in files, answers are awaited beside them.
//!
//! `<kernel>/r1-c2.prompt.md` is written into a package's folder, and `r1-c2.answer.md` is read. An answer counts only
//! beside the very prompt that it answers; an empty one is still being written. Nothing that someone wrote is ever
//! overwritten.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::{Answer, Model, ModelError, Prompt, Witness};

/// Writes prompts to a folder and reads the answers from there.
#[derive(Clone, Debug)]
pub struct FilesModel {
    folder: PathBuf,
    name: String,
}

impl FilesModel {
    /// A model over a folder for the kernels of one package, which is made when the first prompt is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), name: "files".to_owned() }
    }

    /// Gives it another name in journal and manifest: of who really answers.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

impl Model for FilesModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, prompt: &Prompt, _: &dyn Witness) -> Result<Answer, ModelError> {
        let folder = self.folder.join(&prompt.position.kernel);
        let stem = prompt.position.origin().to_string();
        let question = folder.join(format!("{stem}.prompt.md"));
        let answer = folder.join(format!("{stem}.answer.md"));

        let text = read(&answer)?.filter(|text| !text.trim().is_empty());
        let asked = read(&question)?;
        let same = asked.as_deref().is_some_and(|asked| asked.replace("\r\n", "\n") == prompt.text);
        match text {
            Some(_) if !same => Err(ModelError::StaleAnswer { answer }),
            Some(text) => Ok(Answer { text, model: self.name.clone(), usage: None, notes: Vec::new() }),
            None => {
                if !same {
                    write(&folder, &question, &prompt.text).map_err(|source| io(&question, source))?;
                }
                Err(ModelError::Awaiting { prompt: question, answer })
            }
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, ModelError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io(path, source)),
    }
}

fn write(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".prompt-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_data()?;
    // A temporary file is private, and a prompt is for whoever answers it.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path)?;
    Ok(())
}

fn io(path: &Path, source: std::io::Error) -> ModelError {
    ModelError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nobody;
    use crate::model::{Position, Stage};

    fn prompt(text: &str) -> Prompt {
        Prompt {
            position: Position { kernel: "saxpy".to_owned(), round: 1, slot: 2 },
            stage: Stage::Initial,
            parent: None,
            text: text.to_owned(),
            canonical: String::new(),
        }
    }

    #[test]
    fn an_answer_is_awaited_and_then_read() {
        let folder = tempfile::tempdir().unwrap();
        let model = FilesModel::new(folder.path()).named("a colleague");
        let awaited = folder.path().join("saxpy/r1-c2.answer.md");

        let error = model.answer(&prompt("make it fast\n"), &Nobody).unwrap_err();
        assert!(matches!(error, ModelError::Awaiting { answer, .. } if answer == awaited));
        let written = fs::read_to_string(folder.path().join("saxpy/r1-c2.prompt.md")).unwrap();
        assert_eq!(written, "make it fast\n");

        fs::write(&awaited, " \n").unwrap();
        assert!(matches!(model.answer(&prompt("make it fast\n"), &Nobody), Err(ModelError::Awaiting { .. })));

        fs::write(&awaited, "like this").unwrap();
        let answer = model.answer(&prompt("make it fast\n"), &Nobody).unwrap();
        assert_eq!((answer.text.as_str(), answer.model.as_str()), ("like this", "a colleague"));
    }

    #[test]
    fn an_answer_to_another_prompt_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let model = FilesModel::new(folder.path());
        model.answer(&prompt("old"), &Nobody).unwrap_err();
        let answer = folder.path().join("saxpy/r1-c2.answer.md");
        fs::write(&answer, "to the old one").unwrap();
        assert!(matches!(model.answer(&prompt("new"), &Nobody), Err(ModelError::StaleAnswer { .. })));
        assert_eq!(fs::read_to_string(&answer).unwrap(), "to the old one");
    }
}
