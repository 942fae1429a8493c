//! Who is asked for what: a cheap model may repair what a strong one drafted.

use crate::model::{Model, Stage};

/// The models of a search by their part; several for one part take turns over the slots.
#[derive(Clone, Default)]
pub struct Cast<'a> {
    /// For first drafts.
    pub first_draft: Vec<&'a dyn Model>,
    /// For candidates that failed.
    pub repair: Vec<&'a dyn Model>,
    /// For valid kernels that shall be faster.
    pub speed_up: Vec<&'a dyn Model>,
}

impl<'a> Cast<'a> {
    /// All models in all parts.
    pub fn everyone(models: &[&'a dyn Model]) -> Self {
        Self { first_draft: models.to_vec(), repair: models.to_vec(), speed_up: models.to_vec() }
    }

    /// Who is asked; none where nobody has the part.
    pub fn model(&self, stage: Stage, slot: u32) -> Option<&'a dyn Model> {
        let models = match stage {
            Stage::Initial => &self.first_draft,
            Stage::CompileFailure | Stage::ExecutionFailure | Stage::Mismatch => &self.repair,
            Stage::Performance => &self.speed_up,
        };
        let turn = (slot.saturating_sub(1) as usize).checked_rem(models.len())?;
        models.get(turn).copied()
    }

    /// Whether every part is taken.
    pub(super) fn is_complete(&self) -> bool {
        [&self.first_draft, &self.repair, &self.speed_up].iter().all(|part| !part.is_empty())
    }

    /// The name of each, once.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for model in self.first_draft.iter().chain(&self.repair).chain(&self.speed_up) {
            let name = model.name();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
