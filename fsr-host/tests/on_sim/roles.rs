//! What the two processes say about kernels that are right and kernels that are not.

use fsr_protocol::{HostError, Reply, Request};

use crate::hosts::{CASE, Hosts};

#[test]
fn a_right_kernel_is_right_in_every_launch() {
    let mut hosts = Hosts::start();
    let Reply::Loaded { entries, writable_globals } = hosts.load(1, "right", 64) else { panic!("must load") };
    assert_eq!((entries[0].entry.as_str(), writable_globals.len()), ("scale", 0));
    assert!(entries[0].max_threads >= 64);
    // In-outs are restored, and two sets take turns at the same addresses.
    for set in [0, 1, 0, 0] {
        let launched = hosts.launch(1, set).unwrap();
        assert!(launched.comparison.is_match(), "{:?}", launched.comparison);
        assert!(launched.redzones.is_empty() && launched.nanos > 0.0);
    }
}

#[test]
fn buffers_elsewhere_hold_the_same() {
    let mut hosts = Hosts::start();
    hosts.load(1, "right", 64);
    for moved in [true, false, true] {
        let launched = hosts.launch_case(1, CASE, 1, moved).unwrap();
        assert!(launched.comparison.is_match(), "{:?}", launched.comparison);
    }
}

#[test]
fn both_draw_the_same_sizes_and_nothing_to_do_is_done() {
    let mut hosts = Hosts::start();
    let mut cases = |role: fn(&mut Hosts, Request) -> Reply| match role(&mut hosts, Request::Describe) {
        Reply::Description(description) => description.cases,
        other => panic!("{other:?}"),
    };
    let all = cases(Hosts::device);
    assert_eq!(all, cases(Hosts::reference));
    let drawn: Vec<(u32, u64)> =
        (0..).zip(&all).filter(|(_, case)| case.drawn).map(|(id, case)| (id, case.dims[0].1)).collect();
    assert_eq!(drawn.len(), 4);
    assert!(drawn.iter().any(|(_, n)| *n == 0), "{drawn:?}");
    hosts.load(1, "right", 64);
    for (case, n) in drawn {
        hosts.reference(Request::MakeSet { case, set: 0, seed: 1, like: None });
        assert!(matches!(hosts.device(Request::Upload { case, set: 0 }), Reply::Done));
        let launched = hosts.launch_case(1, case, 0, false).unwrap();
        assert!(launched.comparison.is_match(), "n={n}: {:?}", launched.comparison);
    }
}

#[test]
fn a_kernel_that_does_nothing_leaves_the_poison() {
    let launched = Hosts::start().try_kernel("lazy").unwrap();
    let y = &launched.comparison.outputs[0];
    assert_eq!((y.buffer.as_str(), y.mismatches, y.untouched), ("y", 1000, 1000));
    assert_eq!(launched.comparison.outputs[1].mismatches, 0, "z is right");
}

#[test]
fn the_result_of_an_earlier_launch_does_not_help() {
    let mut hosts = Hosts::start();
    assert!(hosts.try_kernel("right").unwrap().comparison.is_match());
    hosts.load(2, "lazy", 64);
    assert_eq!(hosts.launch(2, 0).unwrap().comparison.outputs[0].untouched, 1000);
}

#[test]
fn a_write_next_to_a_buffer_is_found_on_either_side() {
    let mut hosts = Hosts::start_unchecked();
    let behind = hosts.try_kernel("one behind").unwrap();
    let [hit] = &behind.redzones[..] else { panic!("{:?}", behind.redzones) };
    assert_eq!((hit.buffer.as_str(), hit.before, hit.distance, hit.bytes), ("y", false, 0, 4));
    hosts.load(2, "one before", 64);
    let before = hosts.launch(2, 0).unwrap();
    let [hit] = &before.redzones[..] else { panic!("{:?}", before.redzones) };
    assert_eq!((hit.buffer.as_str(), hit.before, hit.distance, hit.bytes), ("y", true, 0, 4));
    assert!(before.comparison.is_match(), "and all else is right");
    // The guards are armed again.
    hosts.load(3, "right", 64);
    assert!(hosts.launch(3, 0).unwrap().redzones.is_empty());
}

#[test]
fn the_cpu_device_knows_each_buffers_end_and_name() {
    for (kernel, told) in [
        ("one behind", "0 bytes past the end of buffer `y` (4000 bytes)"),
        ("one before", "4 bytes before the start of buffer `y` (4000 bytes)"),
    ] {
        let report = tempfile::NamedTempFile::new().unwrap();
        let settings = [("FSR_SIM_REPORT", report.path().to_str().unwrap())];
        let failed = Hosts::start_with(&settings).try_kernel(kernel).err();
        assert!(matches!(failed, Some(HostError::Execution { .. })), "{failed:?}");
        let said = std::fs::read_to_string(report.path()).unwrap();
        assert!(said.contains(told), "{told} is not in {said}");
    }
}

#[test]
fn a_write_far_away_is_an_execution_error() {
    let failed = Hosts::start().try_kernel("far away").err();
    assert!(matches!(failed, Some(HostError::Execution { .. })), "{failed:?}");
}

#[test]
fn a_changed_input_is_named_and_does_not_spoil_the_next_launch() {
    let mut hosts = Hosts::start();
    let launched = hosts.try_kernel("changes its input").unwrap();
    assert_eq!(launched.comparison.changed_inputs, ["x"]);
    hosts.load(2, "right", 64);
    assert!(hosts.launch(2, 0).unwrap().comparison.is_match());
}

#[test]
fn a_tail_that_is_left_out_is_described() {
    let launched = Hosts::start().try_kernel("leaves out the tail").unwrap();
    let y = &launched.comparison.outputs[0];
    assert_eq!((y.mismatches, y.untouched), (232, 232));
    assert_eq!(y.pattern, "exactly the last 232 elements");
}

#[test]
fn memory_of_its_own_is_named() {
    let Reply::Loaded { writable_globals, .. } = Hosts::start().load(1, "counts", 64) else {
        panic!("must load")
    };
    assert_eq!(writable_globals, ["launches"]);
}

#[test]
fn what_does_not_load_says_why_and_ends_nothing() {
    let mut hosts = Hosts::start();
    let Reply::Failed(HostError::Load { message }) = hosts.load(1, "no PTX", 64) else { panic!("must fail") };
    assert!(message.contains("CUDA_ERROR_INVALID_PTX"), "{message}");
    assert!(message.lines().count() > 1, "with the compiler's own words: {message}");
    let ptx = crate::kernels::by_name("right");
    let load = Request::Load { module: 1, ptx, entries: vec!["other".into()], tunables: Default::default() };
    let Reply::Failed(HostError::NoEntry { entry }) = hosts.device(load) else { panic!("must fail") };
    assert_eq!(entry, "other");
    assert!(hosts.try_kernel("right").unwrap().comparison.is_match());
}

#[test]
fn a_refused_launch_ends_nothing() {
    let mut hosts = Hosts::start();
    hosts.load(1, "right", 2048);
    let refused = hosts.launch(1, 0).err();
    assert!(
        matches!(&refused, Some(HostError::Launch { message }) if message.contains("CUDA_ERROR_INVALID_VALUE")),
        "{refused:?}"
    );
    hosts.load(2, "right", 64);
    assert!(hosts.launch(2, 0).unwrap().comparison.is_match());
}

#[test]
fn a_panic_in_the_launch_is_a_fault_of_the_host_code() {
    let mut hosts = Hosts::start();
    hosts.load(1, "right", 0);
    let Some(HostError::HostCode { message }) = hosts.launch(1, 0).err() else { panic!("must fail") };
    assert!(message.contains("scale.rs:") && message.ends_with("attempt to divide by zero"), "{message}");
}

#[test]
fn dumps_may_go_through_a_buffer_of_their_own() {
    let mut hosts = Hosts::start_with(&[("FSR_HOST_BOUNCE", "1")]);
    assert!(hosts.try_kernel("right").unwrap().comparison.is_match());
    hosts.load(2, "lazy", 64);
    assert_eq!(hosts.launch(2, 0).unwrap().comparison.outputs[0].untouched, 1000);
}

#[test]
fn copies_are_timed() {
    let mut hosts = Hosts::start();
    let Reply::Calibrated { nanos } = hosts.device(Request::Calibrate { bytes: 1 << 20, samples: 3 }) else {
        panic!("must be timed")
    };
    assert!(nanos.len() == 3 && nanos.iter().all(|nanos| *nanos > 0.0), "{nanos:?}");
}

#[test]
fn a_dropped_set_and_an_unloaded_module_are_gone() {
    let mut hosts = Hosts::start();
    hosts.load(1, "right", 64);
    assert!(matches!(hosts.device(Request::DropSet { case: CASE, set: 0 }), Reply::Done));
    assert!(matches!(hosts.launch(1, 0).err(), Some(HostError::Protocol { .. })));
    assert!(hosts.launch(1, 1).unwrap().comparison.is_match());
    assert!(matches!(hosts.device(Request::Unload { module: 1 }), Reply::Done));
    assert!(matches!(hosts.launch(1, 1).err(), Some(HostError::Protocol { .. })));
}
