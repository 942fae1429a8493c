//! What the workspace depends on: licences that a user can live with, and one source.

use std::process::Command;

use serde_json::Value;
use spdx::{Expression, LicenseItem, ParseMode};

/// Permissive licences, and the one of a table of root certificates. A dependency under another one needs a decision, not
/// a longer list.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Not offline: it names packages for other platforms too, which a build of this workspace never fetches.
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn every_dependency_is_under_a_permissive_licence() {
    let mut faults = Vec::new();
    let packages = packages();
    assert!(packages.len() > 100, "cargo told of {} packages", packages.len());
    for package in &packages {
        let stated = package["license"].as_str().unwrap_or("none");
        let fits = Expression::parse_mode(stated, ParseMode::LAX).is_ok_and(|expression| {
            expression.evaluate(|wanted| match &wanted.license {
                LicenseItem::Spdx { id, .. } => ALLOWED.contains(&id.name),
                LicenseItem::Other { .. } => false,
            })
        });
        if !fits {
            faults.push(format!("{} {}: {stated}", package["name"], package["version"]));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_not_of_this_workspace_comes_from_the_registry() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for package in packages() {
        let from_registry = package["source"].as_str().is_some_and(|source| source.starts_with("registry+"));
        let own = package["source"].is_null()
            && package["manifest_path"]
                .as_str()
                .is_some_and(|path| std::path::Path::new(path).starts_with(workspace));
        assert!(from_registry || own, "{}: {}", package["name"], package["source"]);
    }
}
