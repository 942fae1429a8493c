//! A scanner for CUDA C++: enough to see which kernels a text defines and what it leans on.
//!
//! It knows comments, strings and brackets, and nothing of types or macros: where it cannot tell, the compiler does.

/// A word, a bracket or another sign of the source, outside comments and strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// An identifier or keyword.
    Word(&'a str),
    /// A string literal, without its quotes.
    Text(&'a str),
    /// Anything else, a character each, but `<<<` in one.
    Sign(&'a str),
}

/// A scanned source.
#[derive(Debug, Default)]
pub struct Scan<'a> {
    /// Tokens, preprocessor lines left out.
    pub tokens: Vec<Token<'a>>,
    /// Line comments, without `//`.
    pub comments: Vec<&'a str>,
    /// Preprocessor lines from behind the `#`, continuation lines joined to them.
    pub directives: Vec<&'a str>,
}

/// One `__global__` function that has a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDefinition<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the name stays as it is in the PTX.
    pub extern_c: bool,
}

/// Scans a whole source. Never fails: an open string or comment reaches to the end of its line or of the text.
pub fn scan(text: &str) -> Scan<'_> {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    let mut at = 0;
    let mut line_is_blank = true;
    while at < bytes.len() {
        let rest = &text[at..];
        let byte = bytes[at];
        if byte == b'\n' {
            line_is_blank = true;
            at += 1;
        } else if rest.starts_with("//") {
            let end = logical_line(rest);
            scan.comments.push(rest[2..end].trim_end_matches(['\r', '\n']));
            at += end;
        } else if let Some(inside) = rest.strip_prefix("/*") {
            at += inside.find("*/").map_or(rest.len(), |end| end + 4);
        } else if byte == b'#' && line_is_blank {
            let end = directive_end(rest);
            let line = &rest[1..end];
            scan.directives.push(line.trim());
            // Comments behind a directive count: `#define X 1 // fsr: ...` is someone's honest declaration.
            if let Some(comment) = line.find("//") {
                scan.comments.push(line[comment + 2..].trim_end());
            }
            at += end;
        } else if let Some(length) = raw_string(rest) {
            scan.tokens.push(Token::Text(&rest[..length]));
            line_is_blank = false;
            at += length;
        } else if byte == b'"' || byte == b'\'' {
            let length = literal(rest, byte);
            if byte == b'"' {
                scan.tokens.push(Token::Text(rest[1..length].trim_end_matches('"')));
            }
            line_is_blank = false;
            at += length;
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            let length = word(rest);
            scan.tokens.push(Token::Word(&rest[..length]));
            line_is_blank = false;
            at += length;
        } else if byte.is_ascii_digit() {
            // 1'000 and 0x1.8p3f are one number each: an apostrophe here opens no literal.
            at += rest
                .bytes()
                .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'\'' | b'_')))
                .unwrap_or(rest.len());
            line_is_blank = false;
        } else {
            let width = rest.chars().next().map_or(1, char::len_utf8);
            let length = if rest.starts_with("<<<") { 3 } else { width };
            if !byte.is_ascii_whitespace() {
                scan.tokens.push(Token::Sign(&rest[..length]));
                line_is_blank = false;
            }
            at += length;
        }
    }
    scan
}

impl<'a> Scan<'a> {
    /// All kernels that the source defines, in order; declarations are left out.
    pub fn kernels(&self) -> Vec<KernelDefinition<'a>> {
        let tokens = &self.tokens;
        let mut found = Vec::new();
        // Whether each open brace belongs to an `extern "C" { }` block.
        let mut braces: Vec<bool> = Vec::new();
        let mut declared_extern_c = false;
        let mut at = 0;
        while at < tokens.len() {
            match tokens[at] {
                Token::Word("extern") if tokens.get(at + 1) == Some(&Token::Text("C")) => {
                    if tokens.get(at + 2) == Some(&Token::Sign("{")) {
                        braces.push(true);
                        at += 2;
                    } else {
                        declared_extern_c = true;
                        at += 1;
                    }
                }
                Token::Sign("{") => {
                    braces.push(false);
                    declared_extern_c = false;
                }
                Token::Sign("}") => {
                    braces.pop();
                    declared_extern_c = false;
                }
                Token::Sign(";") => declared_extern_c = false,
                Token::Word("__global__") => {
                    if let Some((name, body)) = self.kernel_at(at) {
                        if tokens.get(body) == Some(&Token::Sign("{")) {
                            let extern_c = declared_extern_c || braces.contains(&true);
                            found.push(KernelDefinition { name, extern_c });
                        }
                        at = body;
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        found
    }

    /// Name of the function behind a `__global__`, and the token behind its parameters.
    fn kernel_at(&self, global: usize) -> Option<(&'a str, usize)> {
        let mut at = global + 1;
        loop {
            match (self.tokens.get(at)?, self.tokens.get(at + 1)) {
                // `__launch_bounds__(256)`, `__attribute__((...))`, `alignas(16)`: parameters of something else.
                (Token::Word(word), Some(Token::Sign("("))) if is_attribute(word) => {
                    at = self.behind_brackets(at + 1)?;
                }
                (Token::Word(name), Some(Token::Sign("("))) => {
                    return Some((name, self.behind_brackets(at + 1)?));
                }
                (Token::Sign("{" | "}" | ";"), _) => return None,
                _ => at += 1,
            }
        }
    }

    fn behind_brackets(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Names called like functions, `name(`, in order.
    pub fn calls(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.tokens.windows(2).filter_map(|pair| match pair {
            [Token::Word(name), Token::Sign("(")] => Some(*name),
            _ => None,
        })
    }

    /// What is included, with its brackets or quotes: `<iostream>`.
    pub fn includes(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.directives
            .iter()
            .filter_map(|line| line.strip_prefix("include"))
            .map(|rest| rest.split("//").next().unwrap_or(rest).trim())
    }
}

fn is_attribute(word: &str) -> bool {
    word == "alignas" || (word.starts_with("__") && word.ends_with("__"))
}

fn word(rest: &str) -> usize {
    rest.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(rest.len())
}

/// End of a line, with its line feed; a backslash at its end goes on.
fn logical_line(rest: &str) -> usize {
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end_matches(['\r', '\n']).ends_with('\\') {
            break;
        }
    }
    end
}

/// End of a directive: its logical line, and a block comment that it opens whole.
fn directive_end(rest: &str) -> usize {
    let end = logical_line(rest);
    match rest[..end].find("/*") {
        Some(open) if !rest[..open].contains("//") => match rest[open..].find("*/") {
            Some(close) if open + close < end => end,
            Some(close) => open + close + 2,
            None => rest.len(),
        },
        _ => end,
    }
}

fn literal(rest: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of `R"delimiter( ... )delimiter"`.
fn raw_string(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix("R\"")?;
    let open =
        inner.find('(').filter(|&at| at <= 16 && !inner[..at].contains([' ', '\\', '\n', ')', '"']))?;
    let closing = format!("){}\"", &inner[..open]);
    let end = inner[open..].find(&closing).map_or(inner.len(), |at| open + at + closing.len());
    Some(2 + end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<(&str, bool)> {
        scan(text).kernels().into_iter().map(|kernel| (kernel.name, kernel.extern_c)).collect()
    }

    #[test]
    fn kernels_are_found_with_their_linkage() {
        assert_eq!(names("extern \"C\" __global__ void a(float* x) { x[0] = 1; }"), [("a", true)]);
        assert_eq!(names("__global__ void a(float* x) {}"), [("a", false)]);
        assert_eq!(
            names("extern \"C\" {\n__global__ void a() {}\n}\n__global__ void b() {}"),
            [("a", true), ("b", false)]
        );
        assert_eq!(
            names("extern \"C\" __global__ void __launch_bounds__(256, 2) a(int n) { if (n) { f(n); } }"),
            [("a", true)]
        );
        assert_eq!(names("extern \"C\" __global__ __launch_bounds__((TILE) * 2) void a() {}"), [("a", true)]);
        assert_eq!(
            names("extern \"C\" __global__ void a() {}\nextern \"C\" __global__ void b() {}"),
            [("a", true), ("b", true)]
        );
    }

    #[test]
    fn declarations_comments_and_strings_define_nothing() {
        assert!(names("extern \"C\" __global__ void a(float* x);").is_empty());
        assert!(names("// extern \"C\" __global__ void a() {}\n/* __global__ void a() {} */").is_empty());
        assert!(names("const char* s = \"__global__ void a() {}\";").is_empty());
        assert!(names("const char* s = R\"x(\n__global__ void a() {} \" )x\";").is_empty());
        assert!(names("#define K __global__ void a() {}").is_empty());
    }

    #[test]
    fn a_declaration_before_does_not_lend_its_linkage() {
        assert_eq!(names("extern \"C\" __device__ int f(int);\n__global__ void a() {}"), [("a", false)]);
    }

    #[test]
    fn comments_includes_and_launches_are_told_apart() {
        let text = "#include <cuda_fp16.h> // why\n// fsr: X = 1\n  # include \"a.cuh\"\nint x = 1'000; a<<<1, 2>>>(x);\n";
        let scan = scan(text);
        assert_eq!(scan.includes().collect::<Vec<_>>(), ["<cuda_fp16.h>", "\"a.cuh\""]);
        assert_eq!(scan.directives.len(), 2);
        assert!(scan.comments.contains(&" fsr: X = 1"));
        assert!(scan.tokens.contains(&Token::Sign("<<<")));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*|([a-z\"'/*\\\\#\n{}()<R_ ]|__global__|extern \"C\"){0,60}") {
            let scan = scan(&text);
            scan.kernels();
            let _ = scan.includes().count() + scan.calls().count();
        }
    }
}
