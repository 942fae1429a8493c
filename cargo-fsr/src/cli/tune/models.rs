//! The models of a search, made from what `fsr.toml` and `--model` say.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Tuning;
use crate::budget::Price;
use crate::cli::{CommandError, here};
use crate::config::{FILE, HttpConfig, ModelConfig};
use crate::exit::Exit;
use crate::journal;
use crate::model::http::Dialect;
use crate::model::{CommandLimits, CommandModel, FilesModel, HttpModel, Model, ModelError, ReplayModel};
use crate::project::Package;
use crate::search::Cast;

/// Each model once, whatever parts it has.
pub struct Models {
    all: Vec<Box<dyn Model>>,
    first_draft: Vec<usize>,
    repair: Vec<usize>,
    speed_up: Vec<usize>,
}

impl Models {
    fn one(model: Box<dyn Model>) -> Self {
        Self { all: vec![model], first_draft: vec![0], repair: vec![0], speed_up: vec![0] }
    }

    /// As the search takes them.
    pub fn cast(&self) -> Cast<'_> {
        let part = |indices: &[usize]| -> Vec<&dyn Model> {
            indices.iter().filter_map(|&index| self.all.get(index)).map(|model| &**model).collect()
        };
        Cast {
            first_draft: part(&self.first_draft),
            repair: part(&self.repair),
            speed_up: part(&self.speed_up),
        }
    }
}

impl Tuning<'_> {
    /// The configured models. What is wrong with them is told here, before anything is built.
    pub(super) fn models(
        &self,
        package: &Package,
        recording: Option<&[journal::Entry]>,
    ) -> Result<Models, CommandError> {
        let ModelConfig::Team { members, first_draft, repair, speed_up } = &self.model else {
            return Ok(Models::one(self.make(&self.model, package, recording)?));
        };
        let mut all = Vec::new();
        let mut known = BTreeMap::new();
        let mut part = |role: &str, names: &[String]| -> Result<Vec<usize>, CommandError> {
            let names = if names.is_empty() { members } else { names };
            if names.is_empty() {
                return Err(fault(
                    format!("nobody of the team has the part `{role}`"),
                    format!("name models by `{role}` or `members` in {FILE}"),
                ));
            }
            let index = |name: &String| -> Result<usize, CommandError> {
                if let Some(&index) = known.get(name) {
                    return Ok(index);
                }
                let config = self.config.model(Some(name), &here())?;
                if matches!(config, ModelConfig::Team { .. } | ModelConfig::Replay { .. }) {
                    return Err(fault(
                        format!("`{name}` cannot be in a team: it is a team or a recording itself"),
                        format!("name commands, files or endpoints in {FILE}"),
                    ));
                }
                all.push(self.make(&config, package, None)?);
                known.insert(name.clone(), all.len() - 1);
                Ok(all.len() - 1)
            };
            names.iter().map(index).collect()
        };
        let first_draft = part("first-draft", first_draft)?;
        let repair = part("repair", repair)?;
        let speed_up = part("speed-up", speed_up)?;
        Ok(Models { all, first_draft, repair, speed_up })
    }

    fn make(
        &self,
        config: &ModelConfig,
        package: &Package,
        recording: Option<&[journal::Entry]>,
    ) -> Result<Box<dyn Model>, CommandError> {
        Ok(match config {
            ModelConfig::Command { command, deadline, name, price } => {
                let limits =
                    CommandLimits { deadline: Duration::from_secs(*deadline), ..CommandLimits::default() };
                let model = CommandModel::new(command, limits, self.interrupt.clone())?;
                let model = match name {
                    Some(name) => model.named(name),
                    None => model,
                };
                self.priced(Box::new(model), *price)?
            }
            ModelConfig::Files { folder, name } => {
                let model = FilesModel::new(folder.join(&package.spec.package));
                match name {
                    Some(name) => Box::new(model.named(name)),
                    None => Box::new(model),
                }
            }
            ModelConfig::Replay { .. } => Box::new(ReplayModel::new(recording.unwrap_or_default())),
            ModelConfig::OpenaiChat(http) => self.endpoint(Dialect::Chat, http)?,
            ModelConfig::OpenaiResponses(http) => self.endpoint(Dialect::Responses, http)?,
            ModelConfig::Anthropic(http) => self.endpoint(Dialect::Messages, http)?,
            ModelConfig::Team { .. } => {
                return Err(fault("a team is no single model".to_owned(), format!("mend {FILE}")));
            }
        })
    }

    fn endpoint(&self, dialect: Dialect, http: &HttpConfig) -> Result<Box<dyn Model>, CommandError> {
        let name = http.name.clone().unwrap_or_else(|| http.model.clone());
        let settings =
            http.settings(dialect).map_err(|fault| ModelError::Http { model: name.clone(), fault })?;
        let network = self.network().map_err(|error| {
            CommandError::new(Exit::Environment, format!("no thread for requests: {error}"), "try again")
        })?;
        let model = HttpModel::new(name, settings, network, self.interrupt.clone())?;
        self.priced(Box::new(model), http.price)
    }

    /// Where money is limited, a model without a price would spend it uncounted.
    fn priced(&self, model: Box<dyn Model>, price: Option<Price>) -> Result<Box<dyn Model>, CommandError> {
        let name = model.name();
        if price.is_none() && self.purse.limits_money() {
            return Err(fault(
                format!("the cost is limited, and model `{name}` has no price"),
                format!(
                    "write `price = {{ input = 3.0, output = 15.0 }}`, for a million tokens, to its table in {FILE}"
                ),
            ));
        }
        // Journals and totals tell models by their names.
        if !self.purse.set_price(name.clone(), price) {
            return Err(fault(
                format!("two models are called `{name}`, and their prices differ"),
                format!("write `name = \"...\"` to the table of one of them in {FILE}"),
            ));
        }
        Ok(model)
    }
}

fn fault(message: String, help: String) -> CommandError {
    CommandError::new(Exit::Input, message, help)
}
