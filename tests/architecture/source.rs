//! The library's source as syntax trees: which file is which module, what stands in test code, and which paths a file names.

use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// One file of `src`, parsed.
pub struct Source {
    /// Below `src`: "data/table/mod.rs".
    pub name: String,
    /// ["data", "table"]; empty for `lib.rs` and `main.rs`.
    pub module: Vec<String>,

    pub tree: syn::File,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below `dir`, in order of names.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = vec![];
    for entry in std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            out.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// The files of `src` that are part of the library: those that a `#[cfg(test)] mod` names are left out.
pub fn sources() -> Vec<Source> {
    let src = root().join("src");
    let all: Vec<Source> = files(&src).iter().map(|path| read(path, &src)).collect();
    assert!(all.len() > 200, "the walk found only {} files", all.len());
    let tests: Vec<String> = all.iter().flat_map(test_files).collect();
    all.into_iter().filter(|s| !tests.contains(&s.name)).collect()
}

fn read(path: &Path, src: &Path) -> Source {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let name = path.strip_prefix(src).expect("below src").to_string_lossy().replace('\\', "/");
    parse(&name, &text)
}

pub fn parse(name: &str, text: &str) -> Source {
    let mut module: Vec<String> = name.trim_end_matches(".rs").split('/').map(String::from).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    let tree = syn::parse_file(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    Source { name: name.into(), module, tree }
}

/// Whether an item stands under `#[cfg(test)]` or is a test.
pub fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|a| {
        a.path().is_ident("test")
            || a.path().is_ident("cfg") && a.parse_args::<syn::Path>().is_ok_and(|p| p.is_ident("test"))
    })
}

/// Files of the test modules that `source` declares.
fn test_files(source: &Source) -> Vec<String> {
    let mut out = vec![];
    for item in &source.tree.items {
        let syn::Item::Mod(m) = item else { continue };
        if m.content.is_some() || !is_test(&m.attrs) {
            continue;
        }
        let (folder, file) = source.name.rsplit_once('/').unwrap_or(("", &source.name));
        let stem = file.trim_end_matches(".rs");
        let given = m.attrs.iter().find_map(|a| match &a.meta {
            syn::Meta::NameValue(v) if v.path.is_ident("path") => match &v.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(s), .. }) => Some(s.value()),
                _ => None,
            },
            _ => None,
        });
        let below = match (given, stem) {
            (Some(path), _) => path,
            (None, "mod" | "lib" | "main") => format!("{}.rs", m.ident),
            (None, stem) => format!("{stem}/{}.rs", m.ident),
        };
        out.push(format!("{folder}/{below}").trim_start_matches('/').to_string());
    }
    out
}

/// Names of all code of a file that is not test code.
#[derive(Default)]
pub struct Names {
    /// Paths from the crate's root, as far as they are written: ["data", "table", "Cells"].
    pub paths: Vec<Vec<String>>,
    /// First names of paths into other crates, and names of macros.
    pub strangers: Vec<String>,
    pub literals: Vec<String>,
    module: Vec<String>,
    depth: usize,
}

impl Names {
    pub fn of(source: &Source) -> Names {
        let mut names = Names { module: source.module.clone(), ..Default::default() };
        names.visit_file(&source.tree);
        names
    }

    fn note(&mut self, parts: &[String]) {
        let Some(first) = parts.first() else { return };
        let supers = parts.iter().take_while(|p| *p == "super").count();
        match first.as_str() {
            "crate" => self.paths.push(parts[1..].to_vec()),
            "super" => {
                // Inside a module of this file, the first steps up stay in the file.
                let up = supers.saturating_sub(self.depth);
                let from = self.module.len().saturating_sub(up);
                if up > 0 {
                    self.paths.push([&self.module[..from], &parts[supers..]].concat());
                }
            }
            _ => self.strangers.push(parts.join("::")),
        }
    }

    fn walk(&mut self, tree: &syn::UseTree, so_far: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(p) => {
                so_far.push(p.ident.to_string());
                self.walk(&p.tree, so_far);
                so_far.pop();
            }
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.walk(t, so_far)),
            syn::UseTree::Name(n) => self.note(&[so_far.as_slice(), &[n.ident.to_string()]].concat()),
            syn::UseTree::Rename(r) => self.note(&[so_far.as_slice(), &[r.ident.to_string()]].concat()),
            syn::UseTree::Glob(_) => self.note(so_far),
        }
    }

    /// Paths and literals inside the braces of a macro, where syntax is not known.
    fn tokens(&mut self, stream: proc_macro2::TokenStream) {
        let mut path: Vec<String> = vec![];
        let mut colons = 0;
        for token in stream {
            match token {
                proc_macro2::TokenTree::Ident(i) => {
                    if colons < 2 {
                        self.note_long(&path);
                        path.clear();
                    }
                    path.push(i.to_string());
                    colons = 0;
                }
                proc_macro2::TokenTree::Punct(p) if p.as_char() == ':' => colons += 1,
                other => {
                    self.note_long(&path);
                    path.clear();
                    colons = 0;
                    match other {
                        proc_macro2::TokenTree::Group(g) => self.tokens(g.stream()),
                        proc_macro2::TokenTree::Literal(l) => {
                            if let Ok(s) = syn::parse_str::<syn::LitStr>(&l.to_string()) {
                                self.literals.push(s.value());
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        self.note_long(&path);
    }

    fn note_long(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.note(path);
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attrs = match item {
            syn::Item::Fn(i) => &i.attrs,
            syn::Item::Mod(i) => &i.attrs,
            syn::Item::Use(i) => &i.attrs,
            syn::Item::Impl(i) => &i.attrs,
            syn::Item::Const(i) => &i.attrs,
            syn::Item::Struct(i) => &i.attrs,
            _ => &vec![],
        };
        if !is_test(attrs) {
            visit::visit_item(self, item);
        }
    }
    fn visit_impl_item_fn(&mut self, f: &'a syn::ImplItemFn) {
        if !is_test(&f.attrs) {
            visit::visit_impl_item_fn(self, f);
        }
    }
    fn visit_item_mod(&mut self, m: &'a syn::ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, m);
        self.depth -= 1;
    }
    fn visit_item_use(&mut self, u: &'a syn::ItemUse) {
        self.walk(&u.tree, &mut vec![]);
    }
    fn visit_path(&mut self, p: &'a syn::Path) {
        let parts: Vec<String> = p.segments.iter().map(|s| s.ident.to_string()).collect();
        self.note_long(&parts);
        visit::visit_path(self, p);
    }
    fn visit_macro(&mut self, m: &'a syn::Macro) {
        if let Some(name) = m.path.segments.last() {
            self.strangers.push(format!("{}!", name.ident));
        }
        self.tokens(m.tokens.clone());
        visit::visit_macro(self, m);
    }
    fn visit_lit_str(&mut self, s: &'a syn::LitStr) {
        self.literals.push(s.value());
    }
}
