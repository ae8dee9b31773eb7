//! How long files and functions may be.

use super::source::{files, root};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const FILE: usize = 500;
const FUNCTION: usize = 80;

/// Functions of a file that are longer than allowed and give no reason: "name: n lines".
struct Long<'a> {
    text: Vec<&'a str>,
    found: Vec<String>,
}

impl Long<'_> {
    /// A comment "Long: why" in front of a function or inside it allows more lines.
    fn note(&mut self, name: &syn::Ident, attrs: Option<Span>, span: Span) {
        let (first, last) = (span.start().line, span.end().line);
        let from = attrs.map_or(first, |a| a.start().line.min(first));
        let before = self.text[..from - 1].iter().rev().take_while(|l| l.trim_start().starts_with("//")).count();
        let reason = self.text[from - 1 - before..last].iter().any(|l| {
            let l = l.trim_start();
            l.starts_with("//") && l.contains("Long: ")
        });
        let lines = last - first + 1;
        if lines > FUNCTION && !reason {
            self.found.push(format!("{name}: {lines} lines"));
        }
    }
}

impl<'a> Visit<'a> for Long<'_> {
    fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
        self.note(
            &f.sig.ident,
            f.attrs.first().map(Spanned::span),
            f.sig.span().join(f.block.span()).unwrap_or(f.block.span()),
        );
        visit::visit_item_fn(self, f);
    }
    fn visit_impl_item_fn(&mut self, f: &'a syn::ImplItemFn) {
        self.note(
            &f.sig.ident,
            f.attrs.first().map(Spanned::span),
            f.sig.span().join(f.block.span()).unwrap_or(f.block.span()),
        );
        visit::visit_impl_item_fn(self, f);
    }
}

fn long_functions(text: &str) -> Vec<String> {
    let tree = syn::parse_file(text).expect("Rust");
    let mut long = Long { text: text.lines().collect(), found: vec![] };
    long.visit_file(&tree);
    long.found
}

#[test]
fn no_file_and_no_function_is_too_long() {
    let mut found = vec![];
    for folder in ["src", "tests", "examples"] {
        for path in files(&root().join(folder)) {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let name = path.strip_prefix(root()).expect("inside").display().to_string();
            let lines = text.lines().count();
            if lines > FILE {
                found.push(format!("{name}: {lines} lines; at most {FILE}"));
            }
            found.extend(
                long_functions(&text)
                    .iter()
                    .map(|f| format!("{name}, {f}; at most {FUNCTION}, or a reason (\"Long: ...\")")),
            );
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_long_function_is_found_unless_it_gives_a_reason() {
    let body = "    let _x = 1;\n".repeat(FUNCTION);
    let long = |before: &str| format!("{before}fn f() {{\n{body}}}\n");
    assert_eq!(long_functions(&long("")), [format!("f: {} lines", FUNCTION + 2)]);
    assert_eq!(long_functions(&long("/// One.\n")).len(), 1);
    assert!(long_functions(&long("/// One.\n// Long: a table of cases.\n#[inline]\n")).is_empty());
    assert!(long_functions("fn g() {\n}\n").is_empty());
    assert_eq!(long_functions(&format!("struct S;\nimpl S {{\n{}}}\n", long(""))).len(), 1);
}
