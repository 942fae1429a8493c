//! A manifest reads back as it was written, and nothing else passes for it.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::arch::{Arch, ComputeCapability, CudaVersion, PtxIsa};
use crate::fixture;

fn fixed() -> Manifest {
    let folder = fixture::package();
    let spec = fixture::spec(folder.path());
    fixture::entry(&spec, fixture::kernel(&spec), fixture::arch("sm_90a"), "x").manifest
}

#[test]
fn a_manifest_is_sorted_toml() {
    insta::assert_snapshot!(fixed().to_toml());
}

#[test]
fn layout_is_no_part_of_a_manifest() {
    let manifest = fixed();
    let text = manifest.to_toml();
    let other = format!("# A remark.\r\n{}", text.replace('\n', "\r\n").replace(" = ", "    =  "));
    assert_eq!(Manifest::from_toml(&other), Ok(manifest));
}

#[test]
fn every_changed_value_is_noticed() {
    let text = fixed().to_toml();
    let mut changed = 0;
    for (at, letter) in text.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).step_by(7) {
        let other = if letter == '1' { "2" } else { "1" };
        let edited = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert!(Manifest::from_toml(&edited).is_err(), "{edited}");
        changed += 1;
    }
    assert!(changed > 50);
}

#[test]
fn a_newer_format_asks_for_an_update_whatever_else_it_holds() {
    let error = Manifest::from_toml("format = 2\n[new]\nthing = 1\n").unwrap_err();
    assert_eq!(error, ManifestError::UnknownFormat { found: 2 });
    assert_eq!(error.to_string(), "it has format 2 and this fsr-build reads format 1: update fsr-build");
}

#[test]
fn a_key_that_is_not_of_its_inputs_is_noticed() {
    let manifest = fixed();
    // A forged checksum: the key has to stand on its own.
    let mut values = manifest.values();
    values.insert("key".to_owned(), text(Digest::of_bytes(b"")));
    values.insert("checksum".to_owned(), text(manifest.checksum()));
    assert_eq!(Manifest::from_toml(&toml_text::document(&values)), Err(ManifestError::WrongKey));
}

static FIXED: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| fixed().to_toml());

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 8]>().prop_map(|bytes| Digest::of_bytes(&bytes))
}

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 _.:/\"\\\\é\n]{0,8}"
}

fn quantity() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(f64::INFINITY), 0.0..1e300, 0.0..1e-300]
}

fn arch() -> impl Strategy<Value = Arch> {
    use crate::arch::Reach;
    let reach = prop_oneof![Just(Reach::Forward), Just(Reach::Family), Just(Reach::Exact)];
    (10u32..13, 0u32..10, reach)
        .prop_map(|(major, minor, reach)| Arch::new(ComputeCapability { major, minor }, reach))
}

fn spread() -> impl Strategy<Value = Spread> {
    (quantity(), quantity(), quantity(), any::<u32>()).prop_map(|(median, lower, upper, samples)| Spread {
        median_ns: median,
        lower_quartile_ns: lower,
        upper_quartile_ns: upper,
        samples,
    })
}

fn inputs() -> impl Strategy<Value = Inputs> {
    let part = prop_oneof![Just(Part::Contract), Just(Part::Evidence)];
    vec((part, word(), digest()), 0..5).prop_map(|inputs| {
        inputs.into_iter().map(|(part, name, digest)| Input { part, name, digest }).collect()
    })
}

fn needs() -> impl Strategy<Value = LaunchNeeds> {
    let number = || option::of(any::<u32>());
    (number(), number(), number(), number(), number()).prop_map(|(a, b, c, d, e)| LaunchNeeds {
        registers: a,
        static_shared_bytes: b,
        dynamic_shared_bytes: c,
        local_bytes: d,
        max_threads_per_block: e,
    })
}

fn device() -> impl Strategy<Value = Device> {
    let kind = prop_oneof![Just(DeviceKind::Cuda), Just(DeviceKind::Sim)];
    (kind, word(), option::of(0u32..100)).prop_map(|(kind, name, driver)| Device {
        kind,
        name,
        compute_capability: ComputeCapability { major: 9, minor: 0 },
        driver: driver.map(|minor| CudaVersion { major: 12, minor }),
    })
}

fn cases() -> impl Strategy<Value = (Vec<ValidatedCase>, Vec<TimedCase>)> {
    let validated = (word(), quantity(), quantity()).prop_map(|(case, max_abs_error, max_rel_error)| {
        ValidatedCase { case, max_abs_error, max_rel_error }
    });
    let kind = prop_oneof![Just(TimeKind::Measured), Just(TimeKind::Modelled)];
    let timed = (word(), kind, option::of(spread()), spread())
        .prop_map(|(case, kind, baseline, winner)| TimedCase { case, kind, baseline, winner });
    (vec(validated, 0..3), vec(timed, 0..3))
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let numbers = || btree_map(word(), any::<u32>(), 0..3);
    let texts = (word(), vec(word(), 0..3), word(), option::of(word()), vec(word(), 0..3));
    let origin = prop_oneof![Just(Origin::TunedOn), Just(Origin::CompiledOnly)];
    (
        (arch(), inputs(), texts),
        (numbers(), numbers(), btree_map(word(), needs(), 0..3)),
        (digest(), digest(), origin),
        cases(),
        option::of(device()),
    )
        .prop_map(|((arch, inputs, texts), (tunables, launch, needs), digests, cases, device)| {
            Manifest {
                kernel: texts.0.clone(),
                arch,
                inputs,
                entries: texts.1,
                tunables,
                launch,
                needs,
                ptx: PtxFacts {
                    isa: PtxIsa { major: 8, minor: 7 },
                    target: arch,
                    oldest_driver: CudaVersion { major: 12, minor: 8 },
                },
                ptx_sha256: digests.0,
                source_sha256: digests.1,
                compiler: Compiler { name: texts.2.clone(), version: texts.2.clone(), flags: texts.4 },
                origin: digests.2,
                validated: cases.0,
                timed: cases.1,
                device,
                model: texts.3,
                run: texts.2,
            }
        })
}

proptest! {
    #[test]
    fn any_manifest_reads_back_and_is_written_alike_again(manifest in manifest()) {
        let text = manifest.to_toml();
        prop_assert!(text.ends_with('\n') && !text.contains('\r'));
        let read = Manifest::from_toml(&text);
        prop_assert_eq!(read.as_ref().map(Manifest::to_toml), Ok(text));
        prop_assert_eq!(read, Ok(manifest));
    }

    #[test]
    fn no_text_is_a_panic(text in "\\PC*|[a-z=\\[\\]\"\n.0-9 ]*", at in any::<proptest::sample::Index>(), len in 0usize..40) {
        let _ = Manifest::from_toml(&text);
        let mut mixed = FIXED.clone();
        let at = at.index(mixed.len());
        let end = (at + len).min(mixed.len());
        mixed.replace_range(at..end, &text);
        let _ = Manifest::from_toml(&mixed);
    }
}
