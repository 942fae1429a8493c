//! What a load or store moves: element size and count, the kinds of its registers.

/// The shape of a load or store, packed into `aux`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// Bytes of one element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Elements: 1, 2, 4 or 8. More than one: registers are in `extras[target].dst`.
    pub count: u32,
    /// Elements are sign-extended to the register.
    pub signed: bool,
    /// Registers are 64 bits wide.
    pub wide: bool,
    /// Registers are 16 bits wide.
    pub short: bool,
    /// The address register is 32 bits wide.
    pub narrow: bool,
    /// `.volatile`, `.relaxed`, `.acquire`, ...: not judged by the race check.
    pub strong: bool,
    /// Calls may move the place: add the frame base (row `b`).
    pub framed: bool,
}

impl Shape {
    pub fn pack(self) -> u32 {
        let flags = [self.signed, self.wide, self.short, self.narrow, self.strong, self.framed];
        let bits = flags.iter().enumerate().fold(0, |bits, (k, flag)| bits | u32::from(*flag) << k);
        bits | self.bytes << 8 | self.count << 16
    }

    #[inline(always)]
    pub fn unpack(bits: u32) -> Shape {
        Shape {
            bytes: bits >> 8 & 0xff,
            count: bits >> 16 & 0xff,
            signed: bits & 1 != 0,
            wide: bits & 2 != 0,
            short: bits & 4 != 0,
            narrow: bits & 8 != 0,
            strong: bits & 16 != 0,
            framed: bits & 32 != 0,
        }
    }

    #[inline(always)]
    pub fn total(self) -> u32 {
        self.bytes * self.count
    }

    /// The bits of one element.
    #[inline(always)]
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes)
    }

    #[inline(always)]
    pub fn extend(self, value: u64) -> u64 {
        if !self.signed {
            return value;
        }
        let shift = 64 - 8 * self.bytes;
        let value = ((value << shift) as i64 >> shift) as u64;
        if self.short { value & 0xffff } else { value }
    }
}
