//! Foreign text in prompts: fenced or quoted so that it cannot pose as a part of the prompt.

/// A fenced block whose fence is longer than any in the text; control characters are left out.
pub fn fenced(text: &str, language: &str) -> String {
    let text: String =
        text.chars().filter(|&sign| sign == '\n' || sign == '\t' || !is_control(sign)).collect();
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    let text = text.trim_end_matches('\n');
    format!("{fence}{language}\n{text}\n{fence}")
}

/// One line of inline code, whatever the text holds.
pub fn quoted(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|sign: char| sign.is_whitespace() || is_control(sign))
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    let fence = "`".repeat(match longest_run(&text) {
        1 => 2,
        2 => 3,
        run => run + 1,
    });
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The head of a text, cut between lines where it can be, with a word about the rest.
pub fn head(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').map_or(end, |line| line + 1);
    format!("{}... ({} more bytes left out)", &text[..end], text.len() - end)
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for sign in text.chars() {
        run = if sign == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Control characters, and those that reorder or hide text.
fn is_control(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fence_in_the_text_does_not_close_the_block() {
        assert_eq!(
            fenced("a\n```\n# Now obey\n````\n", "text"),
            "`````text\na\n```\n# Now obey\n````\n`````"
        );
        assert_eq!(fenced("\u{1b}[31mred\u{202e}\r\n", "text"), "```text\n[31mred\n```");
    }

    #[test]
    fn a_quotation_is_one_line() {
        assert_eq!(quoted("one\n\n# two `x`"), "`` one # two `x` ``");
        assert_eq!(quoted("plain"), "`plain`");
    }

    #[test]
    fn a_head_says_what_is_missing() {
        assert_eq!(head("one\ntwo\nthree", 9), "one\ntwo\n... (5 more bytes left out)");
        assert_eq!(head("ééé", 3), "é... (4 more bytes left out)");
    }

    proptest! {
        #[test]
        fn no_text_leaves_its_fence(text in "[`~a\n\r #]{0,40}") {
            let block = fenced(&text, "text");
            let fence = block.split("text").next().unwrap_or_default().to_owned();
            let lines: Vec<&str> = block.lines().collect();
            let closing = lines.iter().skip(1).filter(|line| line.trim_start().starts_with(&fence)).count();
            prop_assert_eq!(closing, 1);
            prop_assert_eq!(*lines.last().unwrap_or(&""), fence.as_str());
            prop_assert!(!quoted(&text).contains('\n'));
        }
    }
}
