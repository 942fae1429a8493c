//! The reference role as `cargo fsr` sees it: requests over a real socket, and the device's dumps played by the test.

use std::os::unix::net::UnixStream;
use std::path::Path;

use fsr_protocol::{
    BufferRole, Channel, Comparison, Description, Dtype, Hello, HostError, PROTOCOL_VERSION, Reply, Request,
    Role, Tolerance, files,
};

use super::Reference;
use crate::program::Program;
use crate::serve::serve;
use crate::{Case, Values};

/// Runs requests against a program in the reference role, in a thread of its own.
struct Session {
    channel: Channel,
    share: tempfile::TempDir,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Session {
    fn start<const N: usize>(
        dims: [&'static str; N],
        sizes: Vec<[usize; N]>,
        declare: impl Fn(&mut Case, [usize; N]) + Send + 'static,
    ) -> Self {
        let share = tempfile::tempdir().unwrap();
        let folder = share.path().to_owned();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let program = Program::declare("k", &dims, &sizes, &[], &[], declare);
            let mut reference = Reference::new(&program, folder);
            let mut channel = Channel::new(theirs).unwrap();
            serve(&mut channel, Role::Reference, |request| reference.answer(request)).unwrap();
        });
        let mut channel = Channel::new(ours).unwrap();
        let hello: Hello = channel.receive().unwrap();
        assert_eq!((hello.protocol, hello.role), (PROTOCOL_VERSION, Role::Reference));
        Self { channel, share, thread: Some(thread) }
    }

    fn ask(&mut self, request: Request) -> Reply {
        self.channel.send(&request).unwrap();
        self.channel.receive().unwrap()
    }

    fn describe(&mut self) -> Description {
        match self.ask(Request::Describe) {
            Reply::Description(description) => description,
            other => panic!("{other:?}"),
        }
    }

    fn fault(&mut self, request: Request) -> String {
        match self.ask(request) {
            Reply::Failed(error @ HostError::HostCode { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn make(&mut self, seed: u64) {
        let made = self.ask(Request::MakeSet { case: 0, set: 0, seed, like: None });
        assert!(matches!(made, Reply::SetMade { .. }), "{made:?}");
    }

    fn compare(&mut self, inputs: bool) -> Comparison {
        match self.ask(Request::Compare { case: 0, set: 0, dump: 3, inputs, tolerance: None }) {
            Reply::Compared(comparison) => comparison,
            other => panic!("{other:?}"),
        }
    }

    fn input(&self, buffer: usize) -> Vec<f32> {
        read(&files::input(self.share.path(), 0, 0, buffer))
    }

    fn dump(&self, buffer: usize, values: &[f32]) {
        std::fs::write(files::dump(self.share.path(), 3, 0, buffer), bytemuck::cast_slice(values)).unwrap();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(matches!(self.ask(Request::Exit), Reply::Done));
            self.thread.take().unwrap().join().unwrap();
        }
    }
}

fn read(path: &Path) -> Vec<f32> {
    std::fs::read(path).unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// `y = a * x`, in place in `z` too.
fn scale(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input_from("x", [n], Values::<f32>::normal(0.0, 1.0));
    let a = case.scalar("a", Values::<f32>::uniform(1.0, 2.0));
    let y = case.output::<f32>("y", [n]);
    let z = case.in_out_from("z", [n], Values::<f32>::normal(0.0, 1.0));
    case.launch(|_| Ok(()));
    case.reference(move |cpu| {
        for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
            *y = cpu.scalar(a) * x;
        }
        for z in cpu.write(z).iter_mut() {
            *z *= cpu.scalar(a);
        }
    });
}

fn scaled(session: &Session, buffer: usize) -> Vec<f32> {
    let a = session.input(1)[0];
    session.input(buffer).iter().map(|x| a * x).collect()
}

#[test]
fn a_program_is_described_with_work_from_its_buffers() {
    let mut session = Session::start(["n"], vec![[1021], [4]], scale);
    let description = session.describe();
    assert_eq!(description.kernel, "k");
    let case = &description.cases[0];
    assert_eq!((case.name.as_str(), case.timed), ("n=1021", true));
    assert_eq!(case.dims, [("n".to_owned(), 1021)]);
    let roles: Vec<_> = case.buffers.iter().map(|buffer| (buffer.name.as_str(), buffer.role)).collect();
    let (input, output, in_out) = (BufferRole::Input, BufferRole::Output, BufferRole::InOut);
    assert_eq!(roles, [("x", input), ("a", input), ("y", output), ("z", in_out)]);
    assert!(case.buffers[1].is_scalar() && case.buffers[1].bytes() == 4);
    assert_eq!(case.work_bytes, 4 * 1021 * 4, "x and y once, z twice, the scalar not at all");
}

#[test]
fn a_right_dump_matches_and_a_seed_makes_the_same_inputs_again() {
    let mut session = Session::start(["n"], vec![[1021]], scale);
    session.make(42);
    let first = session.input(0);
    session.dump(2, &scaled(&session, 0));
    session.dump(3, &scaled(&session, 3));
    session.dump(0, &first);
    let comparison = session.compare(true);
    assert!(comparison.is_match(), "{comparison:?}");
    assert_eq!(comparison.outputs.iter().map(|output| output.elements).sum::<u64>(), 2 * 1021);

    assert!(matches!(session.ask(Request::DropSet { case: 0, set: 0 }), Reply::Done));
    session.make(42);
    assert_eq!(session.input(0), first);
    session.ask(Request::DropSet { case: 0, set: 0 });
    session.make(43);
    assert_ne!(session.input(0), first);
}

#[test]
fn poison_that_survives_is_told() {
    let mut session = Session::start(["n"], vec![[1021]], scale);
    session.make(1);
    let mut y = scaled(&session, 0);
    for last in &mut y[1016..] {
        *last = f32::from_bits(u32::MAX);
    }
    session.dump(2, &y);
    session.dump(3, &scaled(&session, 3));
    let comparison = session.compare(false);
    let output = &comparison.outputs[0];
    assert_eq!((output.mismatches, output.untouched), (5, 5));
    assert_eq!(output.pattern, "exactly the last 5 elements");
    assert_eq!(output.first[0].index, [1016]);
    assert_eq!(output.first[0].got, "NaN");
    assert_eq!(output.max_abs, f64::MAX);
    assert_eq!(comparison.outputs[1].mismatches, 0);
}

#[test]
fn an_in_out_that_was_left_alone_and_a_changed_input_are_told() {
    let mut session = Session::start(["n"], vec![[64]], scale);
    session.make(1);
    session.dump(2, &scaled(&session, 0));
    session.dump(3, &session.input(3));
    let mut x = session.input(0);
    x[63] = 0.0;
    session.dump(0, &x);
    let comparison = session.compare(true);
    assert_eq!(comparison.changed_inputs, ["x"]);
    assert!(comparison.outputs[1].mismatches > 50);
    assert_eq!(session.compare(false).changed_inputs, [""; 0], "only when asked");
}

#[test]
fn the_spec_may_loosen_the_tolerance() {
    let mut session = Session::start(["n"], vec![[64]], scale);
    session.make(1);
    session.dump(2, &scaled(&session, 0).iter().map(|y| y * 1.001).collect::<Vec<_>>());
    session.dump(3, &scaled(&session, 3));
    assert!(session.compare(false).outputs[0].mismatches > 0);
    let tolerance = Some(Tolerance { rtol: 0.01, atol: 0.0 });
    let Reply::Compared(comparison) =
        session.ask(Request::Compare { case: 0, set: 0, dump: 3, inputs: false, tolerance })
    else {
        panic!("no comparison")
    };
    assert!(comparison.is_match());
    assert_eq!(comparison.outputs[0].tolerance.rtol, 0.01);
}

#[test]
fn a_dump_that_is_missing_or_short_is_an_error_of_the_folder() {
    let mut session = Session::start(["n"], vec![[64]], scale);
    session.make(1);
    let compare = Request::Compare { case: 0, set: 0, dump: 3, inputs: false, tolerance: None };
    assert!(matches!(session.ask(compare.clone()), Reply::Failed(HostError::Io { .. })));
    session.dump(2, &[0.0; 63]);
    assert!(matches!(session.ask(compare), Reply::Failed(HostError::Io { .. })));
}

#[test]
fn requests_that_cannot_be_are_answered_and_the_session_goes_on() {
    let mut session = Session::start(["n"], vec![[64]], scale);
    let wrong = [
        Request::Open { ordinal: 0 },
        Request::MakeSet { case: 9, set: 0, seed: 0, like: None },
        Request::Compare { case: 0, set: 7, dump: 0, inputs: false, tolerance: None },
    ];
    for request in wrong {
        assert!(matches!(session.ask(request), Reply::Failed(HostError::Protocol { .. })));
    }
    session.make(1);
    let again = session.ask(Request::MakeSet { case: 0, set: 0, seed: 0, like: None });
    assert!(matches!(again, Reply::Failed(HostError::Protocol { .. })));
}

/// The fault that declaring, or making one set, shows.
fn fault(declare: impl Fn(&mut Case, [usize; 1]) + Send + 'static) -> String {
    let mut session = Session::start(["n"], vec![[4]], declare);
    session.fault(Request::MakeSet { case: 0, set: 0, seed: 0, like: None })
}

#[test]
fn faults_of_the_declaration_are_told() {
    let launch = |case: &mut Case| {
        case.launch(|_| Ok(()));
        case.reference(|_| {});
    };
    let host = "fault in the host launch code: case `n=4`: ";
    let said = fault(move |case, _| launch(case));
    assert_eq!(said, format!("{host}no output is declared: call `output` or `in_out`"));
    let said = fault(move |case, [n]| {
        case.input::<f32>("x", [n]);
        case.output::<f32>("x", [n]);
        launch(case);
    });
    assert_eq!(said, format!("{host}two buffers are named `x`"));
    let said = fault(|case, [n]| {
        case.output::<f32>("y", [n]);
        case.reference(|_| {});
    });
    assert_eq!(said, format!("{host}`launch` is missing"));
    let said = fault(|case, [n]| {
        case.output::<f32>("y", [n]);
        case.launch(|_| Ok(()));
    });
    assert_eq!(said, format!("{host}`reference` is missing"));
    let said = fault(move |case, [n]| {
        case.output::<f32>("y", [n, 0]);
        launch(case);
    });
    assert_eq!(said, format!("{host}buffer `y` has no elements: its shape is [4, 0]"));
    let said = fault(move |case, _| {
        case.output::<f32>("y", [usize::MAX, 2]);
        launch(case);
    });
    assert!(said.ends_with("does not fit into memory"), "{said}");
    let said = fault(move |case, [n]| {
        case.output::<f32>("y", [n]);
        launch(case);
        launch(case);
    });
    assert_eq!(said, format!("{host}`launch` is given twice"));
}

#[test]
fn two_cases_of_one_size_are_refused() {
    let mut session = Session::start(["n"], vec![[4], [4]], scale);
    assert_eq!(session.fault(Request::Describe), "fault in the host launch code: two cases are named `n=4`");
}

#[test]
fn faults_of_the_reference_are_told() {
    let reference = |write: fn(&mut [f32])| {
        fault(move |case, [n]| {
            let y = case.output::<f32>("y", [n]);
            let _unused = case.input::<f32>("x", [n]);
            case.launch(|_| Ok(()));
            case.reference(move |cpu| write(&mut cpu.write(y)));
        })
    };
    let host = "fault in the host launch code: ";
    assert_eq!(
        reference(|y| y[..3].fill(0.0)),
        format!("{host}case `n=4`: the reference leaves NaN in output `y` at [3]")
    );
    let said = reference(|y| y[4] = 0.0);
    assert!(
        said.starts_with(&format!("{host}panicked at ")) && said.contains("reference/tests.rs:"),
        "{said}"
    );
    assert!(said.ends_with("index out of bounds: the len is 4 but the index is 4"), "{said}");
    let said = fault(|case, [n]| {
        case.output::<i32>("y", [n]);
        case.launch(|_| Ok(()));
        case.reference(|_| {});
    });
    assert_eq!(said, format!("{host}case `n=4`: the reference never writes output `y`"));
    let said = fault(|case, [n]| {
        let y = case.output::<i32>("y", [n]);
        case.launch(|_| Ok(()));
        case.reference(move |cpu| drop((cpu.write(y), cpu.write(y))));
    });
    assert!(said.ends_with("output `y` is borrowed twice at a time"), "{said}");
}

#[test]
fn a_panic_in_the_declaration_is_told_with_its_place() {
    let said = fault(|_, _| panic!("no such size"));
    assert!(said.contains("reference/tests.rs:") && said.ends_with(": no such size"), "{said}");
}

#[test]
fn every_dtype_travels() {
    fn one<T: crate::Element>(dtype: Dtype) {
        let mut session = Session::start(["n"], vec![[33]], |case, [n]| {
            let x = case.input::<T>("x", [n]);
            let y = case.output::<T>("y", [n]);
            case.launch(|_| Ok(()));
            case.reference(move |cpu| cpu.write(y).copy_from_slice(cpu.read(x)));
        });
        assert_eq!(session.describe().cases[0].buffers[1].dtype, dtype);
        session.make(3);
        std::fs::copy(
            files::input(session.share.path(), 0, 0, 0),
            files::dump(session.share.path(), 3, 0, 1),
        )
        .unwrap();
        assert!(session.compare(false).is_match());
    }
    one::<half::f16>(Dtype::F16);
    one::<half::bf16>(Dtype::Bf16);
    one::<f64>(Dtype::F64);
    one::<i8>(Dtype::I8);
    one::<i16>(Dtype::I16);
    one::<i32>(Dtype::I32);
    one::<i64>(Dtype::I64);
    one::<u8>(Dtype::U8);
    one::<u16>(Dtype::U16);
    one::<u32>(Dtype::U32);
    one::<u64>(Dtype::U64);
}

#[test]
fn a_set_like_another_differs_in_one_element() {
    let mut session = Session::start(["n"], vec![[1021]], scale);
    session.make(5);
    let like = |set, seed| Request::MakeSet { case: 0, set, seed, like: Some(0) };
    let mut changed = std::collections::BTreeSet::new();
    for set in 1..20 {
        assert!(matches!(session.ask(like(set, 1000 + set)), Reply::SetMade { .. }));
        let differs = |buffer| {
            let twin = read(&files::input(session.share.path(), 0, set, buffer));
            let pairs = session.input(buffer).into_iter().zip(twin).enumerate();
            pairs.filter(|(_, (old, new))| old != new).map(|(at, _)| (buffer, at)).collect::<Vec<_>>()
        };
        let all: Vec<(usize, usize)> = [0, 1, 3].into_iter().flat_map(differs).collect();
        assert_eq!(all.len(), 1, "one element of the inputs, and never the scalar: {all:?}");
        changed.extend(all);
    }
    assert!(changed.len() > 10 && changed.iter().any(|(buffer, _)| *buffer == 3), "{changed:?}");

    // Its reference is its own.
    session.dump(2, &scaled(&session, 0));
    session.dump(3, &scaled(&session, 3));
    let compare = Request::Compare { case: 0, set: 1, dump: 3, inputs: false, tolerance: None };
    let Reply::Compared(comparison) = session.ask(compare) else { panic!("no comparison") };
    assert_eq!(comparison.outputs.iter().map(|output| output.mismatches).sum::<u64>(), 1);
    assert!(matches!(
        session.ask(Request::MakeSet { case: 0, set: 90, seed: 1, like: Some(80) }),
        Reply::Failed(_)
    ));
}

#[test]
fn a_size_of_zero_is_a_case_without_elements() {
    let mut session = Session::start(["n"], vec![[0]], scale);
    session.make(1);
    session.dump(2, &[]);
    session.dump(3, &[]);
    session.dump(0, &[]);
    let comparison = session.compare(true);
    assert!(comparison.is_match() && comparison.outputs.iter().all(|output| output.elements == 0));
}

#[test]
fn what_is_not_accumulated_is_compared_more_tightly() {
    let tolerance = |terms: Option<usize>| {
        let mut session = Session::start(["n"], vec![[64]], move |case, [n]| {
            let x = case.input_from("x", [n], Values::<f32>::normal(0.0, 1.0));
            let y = case.output::<f32>("y", [n]);
            if let Some(terms) = terms {
                case.accumulates(y, terms);
            }
            case.launch(|_| Ok(()));
            case.reference(move |cpu| cpu.write(y).copy_from_slice(cpu.read(x)));
        });
        session.make(1);
        // Two bf16 for one f32.
        let low = |x: &f32| {
            let high = f32::from_bits(x.to_bits() & 0xffff_0000);
            high + f32::from_bits((x - high).to_bits() & 0xffff_0000)
        };
        session.dump(1, &session.input(0).iter().map(low).collect::<Vec<_>>());
        session.compare(false).outputs[0].mismatches
    };
    assert_eq!(tolerance(None), 0);
    assert!(tolerance(Some(1)) > 10);
    assert_eq!(tolerance(Some(50_000)), 0);
}
