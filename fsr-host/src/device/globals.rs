//! Module variables of a PTX text that a kernel could write.
//!
//! Owns a small reading of PTX: declarations, and which registers may hold an address. A kernel with memory of its own
//! could remember results from one launch to the next, so such variables are reported. Not reported are `.const` ones,
//! those that no function mentions, and those whose address provably only reaches loads, prefetches and the format of
//! `printf`: lookup tables and strings. What this module does not understand counts as a write.

use std::collections::{BTreeMap, BTreeSet};

/// Instructions that compute their first operand from the others and touch no memory.
const PURE: [&str; 31] = [
    "abs", "add", "addc", "and", "bfe", "bfi", "brev", "cvt", "cvta", "div", "fma", "isspacep", "lop3",
    "mad", "mapa", "max", "min", "mov", "mul", "neg", "not", "or", "prmt", "rem", "selp", "set", "setp",
    "shf", "shfl", "shl", "sub",
];

/// More of them, kept apart for the width of the line.
const PURE_TOO: [&str; 6] = ["shr", "subc", "szext", "vote", "xor", "mad24"];

/// Instructions that only read memory, or none.
const READING: [&str; 8] = ["ld", "ldu", "prefetch", "prefetchu", "tex", "bra", "ret", "exit"];

/// Functions of the device runtime that only read what their arguments point to.
const READING_CALLS: [&str; 2] = ["vprintf", "__assertfail"];

/// Names of the writable globals, in order of declaration.
pub(crate) fn writable_globals(ptx: &str) -> Vec<String> {
    let module = Module::read(ptx);
    let written = module.written();
    module
        .globals
        .into_iter()
        .enumerate()
        .filter(|(at, _)| written.contains(at))
        .map(|(_, name)| name)
        .collect()
}

#[derive(Default)]
struct Module {
    globals: Vec<String>,
    /// By global: the globals whose address its initial value holds.
    initial: Vec<BTreeSet<usize>>,
    /// One a function: its instructions.
    functions: Vec<Vec<Instruction>>,
}

/// An instruction without its predicate.
struct Instruction {
    opcode: String,
    operands: Vec<String>,
}

type Globals = BTreeSet<usize>;

impl Module {
    fn read(ptx: &str) -> Self {
        let mut module = Self::default();
        let mut initial: Vec<Vec<String>> = Vec::new();
        let mut statement: Vec<String> = Vec::new();
        let mut tokens = tokens(ptx).into_iter().peekable();
        while let Some(token) = tokens.next() {
            let function = statement.iter().any(|token| token == ".entry" || token == ".func");
            let value = statement.iter().any(|token| token == "=");
            match token.as_str() {
                "{" if value => statement.push(token),
                "{" => {
                    let body = block(&mut tokens);
                    if function {
                        module.functions.push(instructions(&body));
                    }
                    statement.clear();
                }
                ";" => {
                    if !function {
                        for (name, value) in variables(&statement) {
                            module.globals.push(name);
                            initial.push(value);
                        }
                    }
                    statement.clear();
                }
                _ => statement.push(token),
            }
        }
        let names = module.names();
        module.initial = initial
            .iter()
            .map(|value| value.iter().filter_map(|token| names.get(token).copied()).collect())
            .collect();
        module
    }

    fn names(&self) -> BTreeMap<String, usize> {
        self.globals.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect()
    }

    fn written(&self) -> Globals {
        let names = self.names();
        let mut written = Globals::new();
        for function in &self.functions {
            written.extend(escapes(function, &names));
        }
        // A pointer that lies in a used variable can be loaded, and its uses are not followed.
        let mentioned = self.functions.iter().flatten().flat_map(|instruction| &instruction.operands);
        let used: Globals = mentioned.filter_map(|token| names.get(token).copied()).collect();
        written.extend(used.iter().flat_map(|at| &self.initial[*at]));
        written
    }
}

/// Names and initial values that a module-scope statement declares in global memory.
fn variables(statement: &[String]) -> Vec<(String, Vec<String>)> {
    let Some(start) = statement.iter().position(|token| token == ".global") else { return Vec::new() };
    let opaque = [".texref", ".samplerref", ".surfref"];
    if statement.iter().any(|token| opaque.contains(&token.as_str())) {
        return Vec::new();
    }
    let mut variables: Vec<(String, Vec<String>)> = Vec::new();
    let (mut depth, mut named, mut value) = (0, false, false);
    for token in &statement[start + 1..] {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => (named, value) = (false, false),
            "=" => value = true,
            word if value => {
                if let Some((_, value)) = variables.last_mut() {
                    value.push(word.to_owned());
                }
            }
            word if depth == 0
                && !named
                && !word.starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) =>
            {
                variables.push((word.to_owned(), Vec::new()));
                named = true;
            }
            _ => {}
        }
    }
    variables
}

/// The tokens up to the brace that closes the one just read.
fn block(tokens: &mut impl Iterator<Item = String>) -> Vec<String> {
    let mut depth = 1;
    tokens
        .take_while(|token| {
            match token.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth > 0
        })
        .collect()
}

/// Splits a body into instructions; scopes, labels and declarations fall away.
fn instructions(body: &[String]) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    for statement in body.split(|token| token == ";") {
        // A label, or a scope's brace, may stand before the instruction; a vector operand's brace comes after it.
        let mut rest = statement;
        loop {
            rest = match rest {
                [brace, rest @ ..] if brace == "{" || brace == "}" => rest,
                [_, colon, rest @ ..] if colon == ":" => rest,
                [at, not, _, rest @ ..] if at == "@" && not == "!" => rest,
                [at, _, rest @ ..] if at == "@" => rest,
                rest => break instructions.extend(instruction(rest)),
            };
        }
    }
    instructions
}

fn instruction(tokens: &[String]) -> Option<Instruction> {
    let (opcode, operands) = tokens.split_first()?;
    (!opcode.starts_with('.')).then(|| Instruction { opcode: opcode.clone(), operands: operands.to_vec() })
}

/// The globals that a function may write or hand on.
fn escapes(function: &[Instruction], names: &BTreeMap<String, usize>) -> Globals {
    let mut holds: BTreeMap<&str, Globals> = BTreeMap::new();
    let mut written = Globals::new();
    loop {
        let before: usize = holds.values().map(Globals::len).sum();
        let mut arguments = Globals::new();
        for Instruction { opcode, operands } in function {
            let root = opcode.split('.').next().unwrap_or_default();
            let split = first_operand(operands);
            let reached = |tokens: &[String]| -> Globals {
                let direct = tokens.iter().filter_map(|token| names.get(token).copied());
                direct
                    .chain(tokens.iter().filter_map(|token| holds.get(token.as_str())).flatten().copied())
                    .collect()
            };
            if root == "call" {
                if !operands.iter().any(|token| READING_CALLS.contains(&token.as_str())) {
                    written.append(&mut arguments);
                    written.extend(reached(operands));
                }
                arguments.clear();
            } else if opcode.starts_with("st.param") {
                arguments.extend(reached(operands));
            } else if PURE.contains(&root) || PURE_TOO.contains(&root) {
                let sources = reached(&operands[split..]);
                if !sources.is_empty() {
                    for target in operands[..split].iter().filter(|token| is_name(token)) {
                        holds.entry(target).or_default().extend(&sources);
                    }
                }
            } else if !READING.contains(&root) && !copies_from_global(opcode) {
                written.extend(reached(operands));
            }
        }
        if holds.values().map(Globals::len).sum::<usize>() == before {
            return written;
        }
    }
}

/// `cp.async` towards shared memory reads its global operand.
fn copies_from_global(opcode: &str) -> bool {
    opcode.starts_with("cp.async")
        && match (opcode.find(".shared"), opcode.find(".global")) {
            (Some(shared), Some(global)) => shared < global,
            _ => false,
        }
}

/// Number of tokens of the first operand.
fn first_operand(operands: &[String]) -> usize {
    let mut depth = 0;
    for (at, token) in operands.iter().enumerate() {
        match token.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            "," if depth == 0 => return at,
            _ => {}
        }
    }
    operands.len()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || "%$_".contains(first))
}

/// Words and single marks, without comments and strings.
fn tokens(ptx: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || "._$%".contains(c);
    let mut tokens = Vec::new();
    let mut rest = ptx;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else if word(first) {
            let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
            tokens.push(rest[..len].to_owned());
            len
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writable globals of a module with these declarations and this body.
    fn of(declarations: &str, body: &str) -> Vec<String> {
        writable_globals(&format!(
            ".version 8.7\n.target sm_90\n.address_size 64\n{declarations}\n.visible .entry k(.param .u64 k_param_0)\n\
             {{\n.reg .b64 %rd<9>;\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
        ))
    }

    #[test]
    fn a_counter_is_writable() {
        let counter = ".visible .global .align 4 .u32 counter;";
        assert_eq!(of(counter, "mov.u64 %rd1, counter;\natom.global.add.u32 %r1, [%rd1], 1;"), ["counter"]);
        assert_eq!(of(counter, "st.global.u32 [counter], 7;"), ["counter"]);
        assert_eq!(of(counter, "@%p1 red.global.add.u32 [counter+4], 1;"), ["counter"]);
    }

    #[test]
    fn what_nobody_mentions_does_not_count() {
        assert_eq!(of(".global .align 1 .b8 _ZN4cuda3std6ignoreE[1];", ""), [""; 0]);
    }

    #[test]
    fn a_table_that_is_only_read_does_not_count() {
        let table = ".global .align 4 .b8 table[8] = {0, 0, 128, 63, 0, 0, 0, 64};";
        let body = "mov.u64 %rd1, table;\ncvta.global.u64 %rd2, %rd1;\nmul.wide.u32 %rd3, %r1, 4;\n\
                    add.s64 %rd4, %rd2, %rd3;\nld.f32 %f1, [%rd4];\nst.global.f32 [%rd5], %f1;";
        assert_eq!(of(table, body), [""; 0]);
        let through_arithmetic = "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, 4;\nst.global.f32 [%rd2], %f1;";
        assert_eq!(of(table, through_arithmetic), ["table"]);
    }

    #[test]
    fn constants_and_shared_memory_do_not_count() {
        let declarations = ".const .align 4 .b8 c[16];\n.shared .align 4 .b8 tile[4096];";
        assert_eq!(of(declarations, "ld.const.f32 %f1, [c];\nst.shared.f32 [tile], %f1;"), [""; 0]);
    }

    #[test]
    fn a_format_string_may_reach_printf_and_nothing_else() {
        let text = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
                    .global .align 1 .b8 $str[4] = {104, 105, 10};";
        let call = |callee: &str| {
            format!(
                "mov.u64 %rd1, $str;\ncvta.global.u64 %rd2, %rd1;\n{{\n.param .b64 param0;\n\
                 st.param.b64 [param0+0], %rd2;\n.param .b64 param1;\nst.param.b64 [param1+0], 0;\n\
                 .param .b32 retval0;\ncall.uni (retval0), {callee}, (param0, param1);\n\
                 ld.param.b32 %r1, [retval0+0];\n}}"
            )
        };
        assert_eq!(of(text, &call("vprintf")), [""; 0]);
        assert_eq!(of(text, &call("keep")), ["$str"]);
    }

    #[test]
    fn an_address_kept_in_memory_counts() {
        let two = ".global .align 4 .u32 counter;\n.global .align 8 .u64 where = counter;";
        assert_eq!(of(two, "ld.global.u64 %rd1, [where];\natom.global.add.u32 %r1, [%rd1], 1;"), ["counter"]);
        let one = ".global .align 4 .u32 counter;";
        assert_eq!(of(one, "mov.u64 %rd1, counter;\nst.local.u64 [%rd3], %rd1;"), ["counter"]);
    }

    #[test]
    fn an_unknown_instruction_counts_as_a_write() {
        assert_eq!(of(".global .u32 x;", "mov.u64 %rd1, x;\nfrobnicate.global [%rd1];"), ["x"]);
        assert_eq!(
            of(".global .u32 x;", "mov.u64 %rd1, x;\ncp.async.ca.shared.global [%r1], [%rd1], 4;"),
            [""; 0]
        );
    }

    #[test]
    fn the_order_of_blocks_does_not_matter() {
        let body = "bra B;\nA: st.global.u32 [%rd2], 1;\nbra C;\nB: mov.u64 %rd1, x;\nmov.u64 %rd2, %rd1;\nbra A;\nC:";
        assert_eq!(of(".global .u32 x, y;", body), ["x"]);
    }

    #[test]
    fn rubbish_is_read_without_a_panic() {
        for text in
            ["", "{", "}", ".global", "= {", ".global .u32 é;\"", "/*", "x: {;};@", ".entry k { @ ; }"]
        {
            writable_globals(text);
        }
    }
}
