//! A device with typed buffers for tests, and the compiled kernels of `tests/kernels`.

#![allow(dead_code)]

use fsr_sim::{Arg, Device, Function, LaunchConfig, LaunchError, Level, Module, Options, Profile, Report};

/// Values that go to and from a device as bytes.
pub trait Plain: Copy {
    fn to_bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($ty:ty),+) => { $(
        impl Plain for $ty {
            fn to_bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() }
            fn from_bytes(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().unwrap()) }
        }
    )+ };
}
plain!(u8, u16, u32, i32, u64, i64, f32, f64);

pub struct Bench {
    pub device: Device,
}

impl Bench {
    pub fn new(level: Level) -> Bench {
        Bench::with(Options { level, budget: 1 << 28, ..Options::default() })
    }

    pub fn with(options: Options) -> Bench {
        Bench { device: Device::with_options(Profile::named("h200").unwrap(), options) }
    }

    /// An entry of `tests/kernels/<file>.ptx`.
    pub fn kernel(&self, file: &str, entry: &str) -> Function {
        let path = format!("{}/tests/kernels/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        self.compile(&text, entry)
    }

    pub fn compile(&self, ptx: &str, entry: &str) -> Function {
        let module = Module::parse(ptx).unwrap_or_else(|e| panic!("{e}"));
        self.device.load(module).unwrap().function(entry).unwrap()
    }

    pub fn upload<T: Plain>(&self, data: &[T]) -> u64 {
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_bytes()).collect();
        let address = self.device.alloc(bytes.len() as u64).unwrap();
        self.device.write(address, &bytes).unwrap();
        address
    }

    pub fn download<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.device.read(address, &mut bytes).unwrap();
        bytes.chunks(size_of::<T>()).map(T::from_bytes).collect()
    }

    pub fn launch(
        &self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &[Arg],
    ) -> Report {
        self.try_launch(function, grid, block, shared, args).unwrap_or_else(|e| panic!("{e}"))
    }

    pub fn try_launch(
        &self,
        function: &Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        args: &[Arg],
    ) -> Result<Report, LaunchError> {
        self.device.launch(function, LaunchConfig { grid, block, shared_bytes: shared }, args)
    }
}

/// Repeatable numbers.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub fn float(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}

pub fn assert_close(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (k, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "element {k}: {g} instead of {w}");
    }
}

/// Bits of the nearest half of a number that has one.
pub fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    if value == 0.0 {
        return (bits >> 16) as u16 & 0x8000;
    }
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    assert!((1..31).contains(&exponent), "{value} is no normal half");
    (bits >> 16 & 0x8000) as u16 | (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16
}
