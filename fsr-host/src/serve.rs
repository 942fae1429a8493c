//! A host process under `cargo fsr`: requests from the socket, one reply each.
//!
//! Owns the channel. It never reads or writes the standard streams, which belong to the user's code and to device
//! `printf`.

use std::process::ExitCode;

use fsr_protocol::{
    Channel, ChannelError, Environment, Hello, HostError, PROTOCOL_VERSION, Reply, Request, Role,
};

use crate::device::Device;
use crate::program::Program;
use crate::reference::Reference;

/// Serves until told to exit or the other side is gone.
pub(crate) fn run(program: &Program, environment: &Environment) -> ExitCode {
    let served = Channel::connect(environment).and_then(|mut channel| {
        #[cfg(unix)]
        crate::orphan::watch(channel.socket()?, crate::orphan::GRACE, crate::orphan::end);
        let share = environment.share.clone();
        match environment.role {
            Role::Reference => {
                let mut reference = Reference::new(program, share);
                serve(&mut channel, Role::Reference, |request| reference.answer(request))
            }
            Role::Device => {
                let mut device = Device::new(program, share);
                let served = serve(&mut channel, Role::Device, |request| device.answer(request));
                // The driver frees everything when the process ends; tearing down after a fault may hang.
                std::mem::forget(device);
                served
            }
        }
    });
    match served {
        Ok(()) | Err(ChannelError::Closed) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The loop of either role.
pub(crate) fn serve(
    channel: &mut Channel,
    role: Role,
    mut answer: impl FnMut(Request) -> Result<Reply, HostError>,
) -> Result<(), ChannelError> {
    let host = env!("CARGO_PKG_VERSION").to_owned();
    channel.send(&Hello { protocol: PROTOCOL_VERSION, host, role })?;
    loop {
        let request: Request = channel.receive()?;
        let last = matches!(request, Request::Exit);
        let reply = answer(request).unwrap_or_else(Reply::Failed);
        channel.send(&reply)?;
        if last {
            return Ok(());
        }
    }
}
