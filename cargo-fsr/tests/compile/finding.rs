//! Which toolchain is chosen, and what is said of the others.

use super::*;

fn only(places: Places) -> Settings {
    Settings { places, ..own_settings() }
}

#[test]
fn the_configured_one_comes_first_and_must_work() {
    let own = toolchain(VERSION);
    let version = VERSION.parse().unwrap();
    let home = own.library.ancestors().nth(4).unwrap().to_owned();
    let configured = |path: PathBuf| only(Places { configured: Some(path), ..own_settings().places });
    for path in [own.library.clone(), own.library.parent().unwrap().to_owned(), home] {
        let found = toolchain::find(&version, &configured(path)).unwrap();
        assert_eq!((found.library.as_path(), found.origin), (own.library.as_path(), Origin::Configured));
        assert!(found.missing_headers().is_empty());
    }
    let rubbish = tempfile::tempdir().unwrap();
    let error = toolchain::find(&version, &configured(rubbish.path().to_owned())).unwrap_err();
    assert!(error.to_string().ends_with("is no NVRTC library and holds none"), "{error}");
    let library = rubbish.path().join("libnvrtc.so.12");
    std::fs::write(&library, "rubbish").unwrap();
    let error = toolchain::find(&version, &configured(library)).unwrap_err();
    assert!(matches!(error, CompilerError::Broken { .. }), "{error}");
}

#[test]
fn another_version_is_refused_and_listed() {
    let own = toolchain(VERSION);
    let empty = tempfile::tempdir().unwrap();
    let places = Places {
        cuda_home: vec![own.library.ancestors().nth(2).unwrap().to_owned()],
        installed: empty.path().join("toolchains"),
        ..Places::default()
    };
    let error = toolchain::find(&"12.6".parse().unwrap(), &only(places)).unwrap_err();
    let text = error
        .to_string()
        .replace(own.library.ancestors().nth(4).unwrap().to_str().unwrap(), "[toolchain]")
        .replace(empty.path().to_str().unwrap(), "[empty]");
    insta::assert_snapshot!(text);
}

#[test]
fn a_broken_library_on_the_way_is_passed_by() {
    let own = toolchain(VERSION);
    let rubbish = tempfile::tempdir().unwrap();
    std::fs::write(rubbish.path().join("libnvrtc.so.12"), "rubbish").unwrap();
    let places = Places { loader: vec![rubbish.path().to_owned()], ..own_settings().places };
    assert_eq!(toolchain::find(&VERSION.parse().unwrap(), &only(places)).unwrap().library, own.library);
}

#[test]
#[cfg(unix)]
fn headers_that_one_place_lacks_come_from_another_of_the_same_version() {
    let own = toolchain(VERSION);
    let bare = tempfile::tempdir().unwrap();
    for file in own.library.parent().unwrap().read_dir().unwrap().flatten() {
        std::fs::hard_link(file.path(), bare.path().join(file.file_name()))
            .or_else(|_| std::fs::copy(file.path(), bare.path().join(file.file_name())).map(|_| ()))
            .ok();
    }
    let places = Places { loader: vec![bare.path().to_owned()], ..own_settings().places };
    let found = toolchain::find(&VERSION.parse().unwrap(), &only(places)).unwrap();
    assert_eq!((found.library.parent().unwrap(), found.origin), (bare.path(), Origin::Loader));
    assert!(found.missing_headers().is_empty());
    let compiler = NvrtcCompiler::start(found, &own_settings(), Limits::default()).unwrap();
    ptx(compiler.compile(&request(&format!("#include <mma.h>\n{SAXPY}"))));
}

#[test]
fn the_list_has_what_is_installed() {
    let own = toolchain(VERSION);
    let listed = toolchain::list(&own_settings());
    assert!(listed.into_iter().flatten().any(|toolchain| toolchain == own));
}
