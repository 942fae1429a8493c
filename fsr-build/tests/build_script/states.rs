//! Entries in every state: what fails, what warns, what is built again.

use std::fs;

use crate::support::Package;

#[test]
fn an_untuned_package_fails_with_the_command_that_tunes_it() {
    let package = Package::new("untuned");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: untuned@0.1.0: kernel `transpose` is not tuned for sm_80; run `cargo fsr tune -p untuned transpose`");
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    assert!(!package.root.join("fsr").exists());
}

#[test]
fn a_tuned_package_carries_its_kernel_and_is_built_once() {
    let package = Package::new("tuned");
    package.tune();
    let outcome = package.build();
    assert!(outcome.success && outcome.ran_build_script(), "{}", outcome.stderr);
    assert_eq!(outcome.messages(), "");
    assert!(!package.build().ran_build_script());
    assert!(
        package.cargo("run", &[]).stderr.ends_with("sm_80 16 .version 8.7\n.target sm_80\n// \"größe\"\n")
    );

    // Another package's file, and one of this package that no kernel is made from.
    package.write("src/other.rs", "// other\n");
    assert!(!package.build().ran_build_script());
}

#[test]
fn every_change_that_matters_is_noticed() {
    let package = Package::new("changing");
    package.tune();
    assert!(package.build().success);

    package.edit("examples/host.rs", "{}", "{ }");
    let outcome = package.build();
    assert!(outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"warning: changing@0.1.0: kernel `transpose` is unverified for sm_80: host:examples/host.rs changed; run `cargo fsr verify --update -p changing transpose`");
    assert!(!package.build().ran_build_script());

    package.edit("fsr/transpose/sm_80.ptx", "8.7", "8.6");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: changing@0.1.0: kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.ptx is not the file that its manifest records; restore it from version control, or run `cargo fsr tune -p changing transpose`");

    package.tune();
    let outcome = package.build();
    assert!(outcome.success);
    assert_eq!(outcome.messages(), "");

    package.edit("Cargo.toml", "[8, 16]", "[16, 32]");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: changing@0.1.0: kernel `transpose` is stale for sm_80: tunables changed; run `cargo fsr tune -p changing transpose`, or set FSR_ALLOW_STALE=1 to build with the old one");
    let outcome = package.cargo("build", &["FSR_ALLOW_STALE"]);
    assert!(outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"warning: changing@0.1.0: kernel `transpose` is stale for sm_80: tunables changed; run `cargo fsr tune -p changing transpose`");
    assert!(!package.build().success, "the switch is off again");

    package.tune();
    assert!(package.build().success);
    fs::remove_dir_all(package.root.join("fsr")).unwrap();
    let outcome = package.build();
    assert!(!outcome.success);
    assert!(outcome.messages().contains("is not tuned for sm_80"), "{}", outcome.stderr);
}

#[test]
fn documentation_is_built_without_kernels_and_not_again_and_again() {
    let package = Package::new("documented");
    let outcome = package.cargo("build", &["DOCS_RS"]);
    assert!(outcome.success, "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.messages(), @"warning: documented@0.1.0: kernel `transpose` is not tuned for sm_80; run `cargo fsr tune -p documented transpose`");
    assert!(!package.cargo("build", &["DOCS_RS"]).ran_build_script());
    assert!(package.cargo("doc", &["DOCS_RS"]).success);
    // The empty table is not kept for a build that ships.
    assert!(!package.build().success);
}

#[test]
fn a_tuning_build_is_not_repeated_and_sees_a_kernel_that_appears() {
    let package = Package::new("tuning");
    fs::create_dir(package.root.join("fsr")).unwrap();
    let tuning = || package.cargo("run", &["FSR_TUNING"]);
    let outcome = tuning();
    assert!(outcome.success, "{}", outcome.stderr);
    assert_eq!(outcome.messages(), "");
    assert!(!tuning().ran_build_script());
    package.tune();
    assert!(tuning().stderr.contains("sm_80 16 .version"));
}
