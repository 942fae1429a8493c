//! `fsr.toml`: which models there are, where the compiler is, where journals live.
//!
//! None of it is part of a spec. The file beside the workspace wins over the one in the user's configuration folder,
//! key by key; flags and `FSR_*` variables win over both. It never holds a secret.

mod http;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::Deserialize;

pub use http::HttpConfig;

use crate::budget::{Budget, Price};
use crate::report::{TextFault, suggestion};

/// Name of the file.
pub const FILE: &str = "fsr.toml";

/// All settings, with absolute paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Model to use when no flag names one.
    pub model: Option<String>,
    /// Models by name.
    pub models: BTreeMap<String, ModelConfig>,
    /// An NVRTC library, or a CUDA folder that holds one.
    pub nvrtc: Option<PathBuf>,
    /// The CPU device's shared library, where it shall not be built.
    pub sim_library: Option<PathBuf>,
    /// Whether candidates are executed on the CPU device before a GPU; yes when nothing is said.
    pub screen: Option<bool>,
    /// Where journals live.
    pub state_dir: Option<PathBuf>,
    /// Prompt templates that replace the built-in ones of the same name.
    pub templates: Option<PathBuf>,
    /// What a command may spend.
    pub budget: Budget,
}

/// How one model is reached.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelConfig {
    /// A program: prompt on stdin, answer on stdout.
    Command {
        /// The program and its arguments, as a shell would split them.
        command: String,
        /// Seconds until it is killed.
        #[serde(default = "ModelConfig::default_deadline")]
        deadline: u64,
        /// What journal and manifest call it; the program's name when left out.
        name: Option<String>,
        /// What its answers cost.
        price: Option<Price>,
    },
    /// Files that someone fills in.
    Files {
        /// Where prompts are written and answers expected: `<package>/<kernel>/`.
        folder: PathBuf,
        /// Who really answers, for journal and manifest.
        name: Option<String>,
    },
    /// A recorded dialogue.
    Replay {
        /// The folder of the recording: `<package>/<kernel>.jsonl`.
        folder: PathBuf,
    },
    /// OpenAI's chat completions, which nearly every server speaks.
    OpenaiChat(HttpConfig),
    /// OpenAI's responses.
    OpenaiResponses(HttpConfig),
    /// Anthropic's messages.
    Anthropic(HttpConfig),
    /// Several models of this file that share a search.
    #[serde(rename_all = "kebab-case")]
    Team {
        /// Who takes a part that has nobody of its own; they take turns over the slots.
        #[serde(default)]
        members: Vec<String>,
        /// Who writes first drafts.
        #[serde(default)]
        first_draft: Vec<String>,
        /// Who mends candidates that failed.
        #[serde(default)]
        repair: Vec<String>,
        /// Who makes valid kernels faster.
        #[serde(default)]
        speed_up: Vec<String>,
    },
}

impl ModelConfig {
    /// Ten minutes: a reasoning model may take as long.
    pub const fn default_deadline() -> u64 {
        600
    }

    fn relative_to(mut self, base: &Path) -> Self {
        match &mut self {
            Self::Command { .. }
            | Self::OpenaiChat(_)
            | Self::OpenaiResponses(_)
            | Self::Anthropic(_)
            | Self::Team { .. } => {}
            Self::Files { folder, .. } | Self::Replay { folder } => *folder = base.join(&*folder),
        }
        self
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    model: Option<String>,
    #[serde(default)]
    models: BTreeMap<String, ModelConfig>,
    nvrtc: Option<PathBuf>,
    sim_library: Option<PathBuf>,
    screen: Option<bool>,
    state_dir: Option<PathBuf>,
    templates: Option<PathBuf>,
    #[serde(default)]
    budget: Budget,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ConfigError {
    /// Not TOML, an unknown key, a wrong type.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Parse(Box<TextFault>),
    /// Not readable.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The model that was asked for is nowhere defined.
    #[error("there is no model `{name}`{}", suggestion(.name, .known))]
    #[diagnostic(help("name one in {FILE}, or pass --model command:PROGRAM, files:FOLDER or replay:FOLDER"))]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A kind of model, and nothing behind its colon.
    #[error("`--model {kind}:` names no {}", if .kind == "command" { "program" } else { "folder" })]
    #[diagnostic(help("write it behind the colon"))]
    EmptyModel {
        /// `command`, `files` or `replay`.
        kind: String,
    },
    /// None was asked for.
    #[error("no model is configured")]
    #[diagnostic(help(
        "write `model = \"mine\"` and a table [models.mine] to {FILE} beside the workspace, or pass --model \
         command:PROGRAM, files:FOLDER or replay:FOLDER"
    ))]
    NoModel,
}

impl Config {
    /// Reads the user's file and the one beside `root`; either may be missing.
    pub fn read(root: &Path) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for folder in user_folder().into_iter().chain([root.to_owned()]) {
            config.merge(&folder)?;
        }
        Ok(config)
    }

    fn merge(&mut self, folder: &Path) -> Result<(), ConfigError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(ConfigError::Io { path, source }),
        };
        let file: File = toml::from_str(&text).map_err(|error| {
            let file = path.display().to_string();
            let message = format!("{file}: {}", error.message());
            ConfigError::Parse(TextFault::new(message, &file, Some(text.clone()), error.span()))
        })?;
        let absolute = |path: PathBuf| folder.join(path);
        self.model = file.model.or(self.model.take());
        self.nvrtc = file.nvrtc.map(absolute).or(self.nvrtc.take());
        self.sim_library = file.sim_library.map(absolute).or(self.sim_library.take());
        self.screen = file.screen.or(self.screen);
        self.state_dir = file.state_dir.map(absolute).or(self.state_dir.take());
        self.templates = file.templates.map(absolute).or(self.templates.take());
        self.budget = file.budget.or(self.budget);
        self.models.extend(file.models.into_iter().map(|(name, model)| (name, model.relative_to(folder))));
        Ok(())
    }

    /// The model that a flag names, or the configured one: a name of this file, or `kind:value`.
    pub fn model(&self, flag: Option<&str>, here: &Path) -> Result<ModelConfig, ConfigError> {
        let name = flag.or(self.model.as_deref()).ok_or(ConfigError::NoModel)?;
        if let Some(model) = self.models.get(name) {
            let mut model = model.clone();
            if let ModelConfig::OpenaiChat(http)
            | ModelConfig::OpenaiResponses(http)
            | ModelConfig::Anthropic(http) = &mut model
            {
                http.name.get_or_insert_with(|| name.to_owned());
            }
            return Ok(model);
        }
        let folder = |value: &str| here.join(value);
        match name.split_once(':') {
            Some(("command", command)) if !command.trim().is_empty() => Ok(ModelConfig::Command {
                command: command.to_owned(),
                deadline: ModelConfig::default_deadline(),
                name: None,
                price: None,
            }),
            Some(("files", value)) if !value.is_empty() => {
                Ok(ModelConfig::Files { folder: folder(value), name: None })
            }
            Some(("replay", value)) if !value.is_empty() => Ok(ModelConfig::Replay { folder: folder(value) }),
            Some((kind @ ("command" | "files" | "replay"), _)) => {
                Err(ConfigError::EmptyModel { kind: kind.to_owned() })
            }
            _ => Err(ConfigError::UnknownModel {
                name: name.to_owned(),
                known: self.models.keys().cloned().collect(),
            }),
        }
    }

    /// The CPU device's library: `FSR_SIM_LIBRARY`, else the configured one.
    pub fn sim_library(&self) -> Option<PathBuf> {
        folder_of("FSR_SIM_LIBRARY").or_else(|| self.sim_library.clone())
    }

    /// The state folder: `FSR_STATE_DIR`, else the configured one, else the platform's.
    pub fn state_dir(&self) -> PathBuf {
        folder_of("FSR_STATE_DIR")
            .or_else(|| self.state_dir.clone())
            .or_else(|| {
                let strategy = etcetera::choose_base_strategy().ok()?;
                Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("cargo-fsr"))
            })
            .unwrap_or_else(|| std::env::temp_dir().join("cargo-fsr"))
    }
}

/// Where what can be made again is kept: `FSR_CACHE_DIR`, else the user's cache folder.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    folder_of("FSR_CACHE_DIR")
        .or_else(|| Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("cargo-fsr")))
}

/// The folder that a variable names; one that is empty names none, as if it were not set.
pub(crate) fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn user_folder() -> Option<PathBuf> {
    folder_of("FSR_CONFIG_DIR")
        .or_else(|| Some(etcetera::choose_base_strategy().ok()?.config_dir().join("cargo-fsr")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE), text).expect("writable");
        let mut config = Config::default();
        config.merge(folder.path())?;
        Ok(config)
    }

    #[test]
    fn a_model_is_found_by_name_or_by_kind() {
        let config = config("model = 'mine'\n[models.mine]\nkind = 'command'\ncommand = 'claude -p'\n")
            .expect("valid");
        let mine = config.model(None, Path::new("/here")).expect("configured");
        assert_eq!(
            mine,
            ModelConfig::Command { command: "claude -p".into(), deadline: 600, name: None, price: None }
        );
        let files = config.model(Some("files:answers"), Path::new("/here")).expect("inline");
        assert_eq!(files, ModelConfig::Files { folder: "/here/answers".into(), name: None });
    }

    #[test]
    fn an_unknown_model_is_an_error_with_a_suggestion() {
        let config = config("[models.recorded]\nkind = 'replay'\nfolder = 'recorded'\n").expect("valid");
        let error = config.model(Some("recorder"), Path::new("/here")).expect_err("unknown");
        assert_eq!(error.to_string(), "there is no model `recorder`; did you mean `recorded`?");
        assert!(matches!(config.model(None, Path::new("/here")), Err(ConfigError::NoModel)));
    }

    #[test]
    fn an_endpoint_is_called_by_its_name_in_the_file_and_keeps_its_key_outside() {
        let text = "[models.strong]\nkind = 'anthropic'\nmodel = 'some-model'\nkey-env = 'SOME_KEY'\n";
        let config = config(text).expect("valid");
        let ModelConfig::Anthropic(http) = config.model(Some("strong"), Path::new("/")).expect("there")
        else {
            panic!("another kind");
        };
        assert_eq!((http.name.as_deref(), http.key_env.as_deref()), (Some("strong"), Some("SOME_KEY")));
        for secret in ["key", "api-key", "token"] {
            let text = format!("[models.a]\nkind = 'openai-chat'\nmodel = 'm'\n{secret} = 'x'\n");
            let error = self::config(&text).expect_err("no place for it").to_string();
            assert!(error.contains(&format!("unknown field `{secret}`")), "{error}");
        }
    }

    #[test]
    fn a_team_names_its_parts() {
        let text = "[models.t]\nkind = 'team'\nmembers = ['a']\nrepair = ['b', 'c']\n";
        let team = config(text).expect("valid").model(Some("t"), Path::new("/")).expect("there");
        let ModelConfig::Team { members, repair, speed_up, .. } = team else { panic!("another kind") };
        assert_eq!((members.len(), repair.len(), speed_up.len()), (1, 2, 0));
        let error = config("[models.t]\nkind = 'team'\nrepairs = ['b']\n").expect_err("unknown key");
        assert!(error.to_string().contains("unknown field `repairs`"), "{error}");
    }

    #[test]
    fn unknown_keys_are_errors() {
        let error = config("modell = 'mine'\n").expect_err("unknown key");
        assert!(error.to_string().contains("unknown field `modell`"), "{error}");
        let error = config("[models.a]\nkind = 'files'\nfolder = 'x'\ntime = 3\n").expect_err("unknown key");
        assert!(error.to_string().contains("unknown field `time`"), "{error}");
    }
}
