//! `cargo fsr prompts`: the templates in force, and a folder to change them in.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::json;

use super::args::Prompts;
use super::list::columns;
use super::{CommandError, Shell, here};
use crate::config::Config;
use crate::exit::Exit;
use crate::project::{Locking, Project};
use crate::report::suggestion;
use crate::search::{Template, Templates};

pub fn run(args: Prompts, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, Locking::default(), &here())?;
    let config = Config::read(&project.root)?;
    let templates = Templates::new(config.templates.as_deref())?;
    let chosen = choose(&templates, &args.names)?;
    match &args.write {
        Some(folder) => write(&chosen, folder, shell)?,
        None if shell.json() => chosen.iter().for_each(|template| message(template, shell)),
        None if args.names.is_empty() => list(&chosen, config.templates.as_deref(), shell),
        None => chosen.iter().for_each(|template| shell.data(template.text.trim_end())),
    }
    Ok(Exit::Success)
}

fn choose<'t>(templates: &'t Templates, names: &[String]) -> Result<Vec<Template<'t>>, CommandError> {
    let all: Vec<Template<'_>> = templates.list().collect();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.iter().find(|template| template.name == name).copied().ok_or_else(|| {
            let known: Vec<String> = all.iter().map(|template| template.name.to_owned()).collect();
            let what = format!("there is no prompt template `{name}`{}", suggestion(name, &known));
            CommandError::new(Exit::Usage, what, "`cargo fsr prompts` lists them")
        })
    };
    names.iter().map(find).collect()
}

fn list(templates: &[Template<'_>], folder: Option<&Path>, shell: &Shell) {
    let mut rows = vec![["TEMPLATE", "FROM", "FOR"].map(str::to_owned)];
    for template in templates {
        let from = match (&template.record.replaced_by, folder) {
            (Some(_), Some(folder)) => folder.join(template.name).display().to_string(),
            _ => format!("built in, version {}", template.record.version),
        };
        rows.push([template.name.to_owned(), from, template.purpose.to_owned()]);
    }
    columns(&rows).for_each(|line| shell.data(line));
}

fn message(template: &Template<'_>, shell: &Shell) {
    shell.message(&json!({
        "reason": "template",
        "name": template.name,
        "for": template.purpose,
        "version": template.record.version,
        "sha256": template.record.sha256,
        "replaced": template.record.replaced_by.is_some(),
        "text": template.text,
    }));
}

fn write(templates: &[Template<'_>], folder: &Path, shell: &Shell) -> Result<(), CommandError> {
    let fault = |path: &Path, error: std::io::Error| {
        let path = path.display();
        let (what, help) = match error.kind() {
            ErrorKind::AlreadyExists => (
                format!("{path} is there already"),
                "name another folder, or only the templates that are not there yet",
            ),
            _ => (format!("{path} is not written: {error}"), "name a folder that can be written to"),
        };
        CommandError::new(Exit::Usage, what, help)
    };
    let paths: Vec<_> = templates.iter().map(|template| folder.join(template.name)).collect();
    if let Some(path) = paths.iter().find(|path| path.exists()) {
        return Err(fault(path, ErrorKind::AlreadyExists.into()));
    }
    fs::create_dir_all(folder).map_err(|error| fault(folder, error))?;
    for (template, path) in templates.iter().zip(&paths) {
        File::create_new(path)
            .and_then(|mut file| file.write_all(template.text.as_bytes()))
            .map_err(|error| fault(path, error))?;
    }
    let file = crate::config::FILE;
    shell.status(
        "Written",
        format_args!("{}; `templates = \"...\"` in {file} puts them in force", folder.display()),
    );
    Ok(())
}
