//! Foreign text made fit to be shown: names of files, columns and classes may hold escape sequences that move a
//! terminal's cursor, newlines that forge a line of ours, or marks that turn the order of the letters around.

use std::borrow::Cow;

/// Characters that act on a terminal instead of showing: control characters, separators of lines, marks of direction.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn escaped<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_active = |c: char| self::is_active(c) && !kept.contains(&c);
    if !text.contains(is_active) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !is_active(c) => out.push(c),
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            c if (c as u32) < 0x100 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.extend(c.escape_unicode()),
        }
    }
    out.into()
}

/// One line: whatever does not show is written as an escape, newlines too: "\n", "\x1b", "\u{202e}".
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// Several lines: as [`visible`], but line breaks and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'])
}

/// A word as the system's own shell reads it back.
pub(crate) fn shell(word: &str) -> String {
    if super::names::WINDOWS { windows_shell(word) } else { posix_shell(word) }
}

/// A word as cmd.exe and PowerShell read it back, as far as both can: a percent sign and a dollar keep what they mean there.
fn windows_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    let word = visible(word).replace('"', "\"\"");
    // A backslash at the end would take the quote behind it for a letter.
    let end = word.chars().rev().take_while(|c| *c == '\\').count();
    format!("\"{word}{}\"", "\\".repeat(end))
}

/// A word as a POSIX shell reads it back.
pub(crate) fn posix_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    match visible(word) {
        Cow::Borrowed(word) => format!("'{}'", word.replace('\'', "'\\''")),
        // In $'...' a shell reads escapes.
        Cow::Owned(_) => format!("$'{}'", visible(&word.replace('\\', "\\\\").replace('\'', "\\'"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c12_what_acts_on_a_terminal_is_written_out() {
        assert_eq!(visible("a\u{1b}[31mred\nb\r\u{7}\u{9b}2J"), "a\\x1b[31mred\\nb\\r\\x07\\x9b2J");
        assert_eq!(visible("gpj.\u{202e}exe\u{7f}"), "gpj.\\u{202e}exe\\x7f");
        assert_eq!(visible_lines("a\tb\nc\u{1b}"), "a\tb\nc\\x1b");
        for text in ["Größe ± 2 [µm] ↑", "日本語", "C:\\data\\new", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(t) if t == text));
        }
    }

    #[test]
    fn words_are_quoted_as_each_shell_reads_them() {
        assert_eq!(posix_shell("runs/a"), "runs/a");
        assert_eq!(posix_shell(r"runs\a b"), r"'runs\a b'");
        assert_eq!(posix_shell("it's"), "'it'\\''s'");
        assert_eq!(windows_shell(r"C:\runs\größe-2"), r"C:\runs\größe-2");
        assert_eq!(windows_shell(r"C:\my runs\a"), r#""C:\my runs\a""#);
        assert_eq!(windows_shell(r"C:\my runs\"), r#""C:\my runs\\""#);
        assert_eq!(windows_shell("say \"so\", it's"), "\"say \"\"so\"\", it's\"");
        assert_eq!(windows_shell(""), "\"\"");
        assert_eq!(shell("a b"), if cfg!(windows) { "\"a b\"" } else { "'a b'" });
    }
}
