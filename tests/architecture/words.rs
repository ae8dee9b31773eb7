//! What the window says names no flag, no command and no recipe key. A text that does stands in the first place of `either`, where
//! it is said at the command line alone. Modules that no window shows may say what they like.

use super::source::{root, sources};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::sync::LazyLock;
use vifo::recipe::keys;

/// Modules whose texts the window shows.
const SHOWN: [&str; 15] = [
    "error",
    "system/",
    "recipe/",
    "ops/",
    "net/",
    "exec/",
    "data/",
    "method/",
    "train/",
    "run/",
    "results/",
    "workflow/",
    "live/",
    "figure/",
    "gui/",
];

/// Rooms whose texts are no words to a reader, or are read before there is a window.
const OTHERS: [(&str, &[&str], &str); 9] = [
    ("recipe/keys", &[], "declares flags and their help; `tips_name_no_flag` looks at what the window shows of it"),
    ("recipe/declaration", &[], "declares keys"),
    ("data/inspect/mod", &["--"], "the command line that a report ends with"),
    ("data/source", &["data.csv"], "a file's name"),
    ("method/training", &["data.images{"], "a buffer"),
    ("workflow/budget", &["net.", "method."], "variants, as the recipe has them"),
    ("gui/panels/data/content", &["net.", "method."], "variants, as the recipe has them"),
    ("results/words", &["vifo calibrate"], "what the command line says of a note"),
    ("gui/shell", &["vifo fit", "vifo doctor"], "why no window opened, at the command line"),
];

/// Whether a text names what the window does not have. The path of a key alone is no text, but a name for the program.
fn is_of_the_command_line(text: &str) -> bool {
    static KEYS: LazyLock<Vec<&str>> =
        LazyLock::new(|| keys::KEYS.iter().map(|k| k.path).filter(|p| p.contains('.')).collect());
    let has_flag = text.match_indices("--").any(|(i, _)| {
        let before = text[..i].chars().next_back();
        let after = text[i + 2..].chars().next();
        before.is_none_or(|c| " `(\"'".contains(c)) && after.is_some_and(|c| c.is_ascii_lowercase())
    });
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let has_key = KEYS.iter().any(|key| {
        *key != text
            && text
                .match_indices(key)
                .any(|(i, _)| !is_word(text[..i].chars().next_back()) && !is_word(text[i + key.len()..].chars().next()))
    });
    has_flag || has_key || text.contains("`vifo ")
}

/// The texts of a file that are not in the first place of `either`.
fn texts(tokens: TokenStream, found: &mut Vec<String>) {
    let mut before = String::new();
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let said_twice = before == "either" && group.delimiter() == Delimiter::Parenthesis;
            let mut inside: Vec<TokenTree> = group.stream().into_iter().collect();
            if said_twice {
                let is_comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
                let comma = inside.iter().position(is_comma).unwrap_or(inside.len());
                inside.drain(..comma);
            }
            texts(inside.into_iter().collect(), found);
        }
        if let TokenTree::Literal(literal) = &token
            && let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string())
            && before != "doc"
        {
            found.push(text.value());
        }
        if !matches!(&token, TokenTree::Punct(p) if p.as_char() == '=') {
            before = token.to_string();
        }
    }
}

fn strangers(file: &str, text: &str) -> Vec<String> {
    if !SHOWN.iter().any(|m| file == *m || file.starts_with(m)) {
        return vec![];
    }
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let mut found = vec![];
    texts(code.parse().expect("Rust"), &mut found);
    let other = OTHERS.iter().find(|o| o.0 == file);
    let may = |text: &str| other.is_some_and(|o| o.1.is_empty() || o.1.iter().any(|part| text.contains(part)));
    found.retain(|text| is_of_the_command_line(text) && !may(text));
    found.into_iter().map(|text| format!("{file}: {text:?}")).collect()
}

#[test]
fn no_text_of_the_window_names_a_flag_or_a_key() {
    let mut found = vec![];
    for source in sources() {
        let text = std::fs::read_to_string(root().join("src").join(&source.name)).expect("a source file");
        found.extend(strangers(source.name.trim_end_matches(".rs"), &text));
    }
    assert!(found.is_empty(), "say it with `either`: {found:#?}");
}

#[test]
fn planted_words_are_found() {
    let said = |text: &str| strangers("train/plan", &format!("fn f() {{ {text} }}")).len();
    for planted in
        ["\"use --device cpu\"", "format!(\"lower train.lr ({x})\")", "\"see `vifo inspect`\"", "either(a, \"--lr\")"]
    {
        assert_eq!(said(planted), 1, "{planted}");
    }
    for fine in [
        "either(\"use --device cpu\", \"use the CPU\")",
        "either(format!(\"--lr {x}\"), y)",
        "\"train.lr\"",
        "\"a -- b\"",
    ] {
        assert_eq!(said(fine), 0, "{fine}");
    }
    assert!(strangers("study/sweep", "fn f() { \"--lr\" }").is_empty(), "no window shows it");
}
