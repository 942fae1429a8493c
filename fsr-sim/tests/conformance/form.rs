//! One instruction form: its operands' types, the kernel that applies it to arrays, and what hardware gave.

use std::fmt::Write as _;

/// Threads of a kernel; each applies the instruction once.
pub const COUNT: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type(pub &'static str);

/// Name, bytes, and the register that holds it.
const TYPES: [(&str, usize, &str); 17] = [
    ("f32", 4, "%f"),
    ("f64", 8, "%d"),
    ("u32", 4, "%r"),
    ("s32", 4, "%r"),
    ("b32", 4, "%r"),
    ("u64", 8, "%q"),
    ("s64", 8, "%q"),
    ("b64", 8, "%q"),
    ("u16", 2, "%h"),
    ("s16", 2, "%h"),
    ("b16", 2, "%h"),
    ("f16", 2, "%h"),
    ("bf16", 2, "%h"),
    ("f16x2", 4, "%r"),
    ("bf16x2", 4, "%r"),
    ("u8", 1, "%h"),
    ("s8", 1, "%h"),
];

impl Type {
    fn named(name: &str) -> Type {
        Type(TYPES.iter().find(|t| t.0 == name).unwrap_or_else(|| panic!("type {name}")).0)
    }

    fn row(self) -> (&'static str, usize, &'static str) {
        *TYPES.iter().find(|t| t.0 == self.0).unwrap()
    }

    pub fn bytes(self) -> usize {
        self.row().1
    }

    /// Loads and stores are untyped where the type has a register of its size.
    fn access(self) -> &'static str {
        match (self.0, self.bytes()) {
            ("u8" | "s8", _) => self.0,
            (_, 2) => "b16",
            (_, 4) => "b32",
            _ => "b64",
        }
    }
}

/// An instruction with the types of its operands: a line of `forms.txt`.
#[derive(Clone, Debug)]
pub struct Form {
    /// `lop3.b32, 150`: the instruction, and what follows its register operands.
    pub text: String,
    pub result: Type,
    pub sources: Vec<Type>,
}

impl Form {
    /// Reads `instruction|result|source,source`.
    pub fn parse(line: &str) -> Form {
        let [text, result, sources] = line.split('|').collect::<Vec<_>>()[..] else { panic!("form {line}") };
        Form {
            text: text.to_owned(),
            result: Type::named(result),
            sources: sources.split(',').map(Type::named).collect(),
        }
    }

    /// The instruction alone: `lop3.b32`.
    pub fn instruction(&self) -> &str {
        self.text.split(',').next().unwrap()
    }

    /// What follows the register operands: `, 150`.
    fn immediate(&self) -> &str {
        &self.text[self.instruction().len()..]
    }

    fn is_predicate(&self) -> bool {
        ["setp.", "testp."].iter().any(|p| self.text.starts_with(p))
    }

    /// A kernel of one array of results and four of sources.
    pub fn ptx(&self) -> String {
        let mut text = String::from(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 o, .param .u64 i0, .param .u64 i1, .param .u64 i2, .param .u64 i3) {\n\
             .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<10>; .reg .f64 %d<10>; .reg .b64 %q<40>; \
             .reg .b16 %h<20>;\n\
             mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ntid.x; \
             mad.lo.u32 %r10, %r11, %r12, %r10;\n",
        );
        let place = |text: &mut String, param: &str, ty: Type| {
            let bytes = ty.bytes();
            writeln!(
                text,
                "ld.param.u64 %q20, [{param}]; mul.wide.u32 %q21, %r10, {bytes}; add.u64 %q20, %q20, %q21;"
            )
            .unwrap();
        };
        let mut operands = Vec::new();
        for (k, ty) in self.sources.iter().enumerate() {
            let register = format!("{}{}", ty.row().2, k + 1);
            place(&mut text, &format!("i{k}"), *ty);
            writeln!(text, "ld.global.{} {register}, [%q20];", ty.access()).unwrap();
            operands.push(register);
        }
        let mut result = format!("{}9", self.result.row().2);
        let target = if self.is_predicate() { "%p1" } else { &result };
        writeln!(text, "{} {target}, {}{};", self.instruction(), operands.join(", "), self.immediate())
            .unwrap();
        if self.is_predicate() {
            result = "%r9".into();
            text.push_str("selp.u32 %r9, 1, 0, %p1;\n");
        }
        place(&mut text, "o", self.result);
        writeln!(text, "st.global.{} [%q20], {result};\nret;\n}}", self.result.access()).unwrap();
        text
    }
}

/// What a GPU gave: a run of (u16 length of the form's line, u32 length of the results, line, results), where no
/// results say that its compiler refused the form.
pub fn recording(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    while let [a, b, c, d, e, f, rest @ ..] = bytes {
        let head = usize::from(u16::from_le_bytes([*a, *b]));
        let body = u32::from_le_bytes([*c, *d, *e, *f]) as usize;
        all.push((String::from_utf8(rest[..head].to_vec()).unwrap(), rest[head..head + body].to_vec()));
        bytes = &rest[head + body..];
    }
    all
}
