//! Whatever decodes is also executed, briefly and with every check: it ends clean, in faults or refused.

#![no_main]

use fsr_sim::{Device, LaunchConfig, Level, Module, Options, Profile};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else { return };
    let options = Options {
        level: Level::Full,
        budget: 1 << 12,
        threads: 1,
        memory_bytes: Some(1 << 20),
        output: Some(Arc::new(|_: &str| {})),
        ..Options::default()
    };
    let device = Device::with_options(Profile::named("h200").unwrap(), options);
    let Ok(module) = device.load(module) else { return };
    let Ok(data) = device.alloc(4096) else { return };
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    for name in entries {
        let Some(function) = module.function(&name) else { continue };
        let mut params = Vec::new();
        for param in function.params() {
            params.resize(param.offset as usize, 0);
            match param.size {
                8 => params.extend(data.to_le_bytes()),
                4 => params.extend(64u32.to_le_bytes()),
                size => params.resize(params.len() + size as usize, 1),
            }
        }
        let config = LaunchConfig { grid: [2, 1, 1], block: [8, 5, 1], shared_bytes: 256 };
        let _ = device.launch_raw(&function, config, &params);
    }
});
