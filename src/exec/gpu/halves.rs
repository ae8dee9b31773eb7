//! Kernels whose operands are stored in 16 bits: the same text, in which those arrays are of f16, what is read from them is converted
//! at once and what is written to them last. The compiler checks the rewriting: WGSL converts nothing by itself, so that what is
//! overlooked is an error.

use std::collections::HashMap;

/// Which bindings of a kernel hold halves: bit b for binding b.
pub type Halves = u32;

/// Conversions of what is written. A card may round to either neighbour, and beyond the largest half to it or to infinity: there
/// it is infinity, which the gradient's guard sees.
const TO_HALF: &str = "
fn to_half(x: f32) -> f16 {
    return f16(select(x, x * 3e38, abs(x) > 65504.0));
}
fn to_half_quad(x: vec4<f32>) -> vec4<f16> {
    return vec4<f16>(select(x, x * 3e38, abs(x) > vec4<f32>(65504.0)));
}
";

/// The composed shader with halves at these bindings, in all of its kernels.
pub fn halved(composed: &str, halves: Halves) -> String {
    if halves == 0 {
        return composed.into();
    }
    let (text, arrays) = arrays_of(composed, halves);
    format!("enable f16;\n{TO_HALF}{}", Rewriting { arrays }.all(&text))
}

/// The functions that convert what is written.
pub(super) fn conversions() -> &'static str {
    TO_HALF
}

/// The text with the arrays at these bindings declared as halves, and their names with whether they are of quadruples.
pub(super) fn arrays_of(composed: &str, halves: Halves) -> (String, HashMap<String, bool>) {
    let (mut arrays, mut lines) = (HashMap::new(), vec![]);
    for line in composed.lines() {
        let declared = declaration(line).filter(|(binding, ..)| halves >> binding & 1 == 1);
        match declared {
            Some((_, name, is_quad)) => {
                arrays.insert(name, is_quad);
                lines.push(line.replace("<f32>", "<f16>"));
            }
            None => lines.push(line.into()),
        }
    }
    (lines.join("\n"), arrays)
}

/// Binding, name, and whether it is of quadruples, of a line that declares an array of numbers in a buffer.
fn declaration(line: &str) -> Option<(u32, String, bool)> {
    let (binding, rest) = line.strip_prefix("@group(0) @binding(")?.split_once(')')?;
    let (name, ty) = rest.split_once("> ")?.1.split_once(": ")?;
    let is_quad = match ty {
        "array<f32>;" => false,
        "array<vec4<f32>>;" => true,
        _ => return None,
    };
    Some((binding.parse().ok()?, name.into(), is_quad))
}

pub(super) struct Rewriting {
    /// By name, whether their elements are quadruples.
    pub arrays: HashMap<String, bool>,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Bytes of the brackets that the text begins with, or 0.
fn brackets(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    0
}

impl Rewriting {
    pub fn all(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(first) = rest.chars().next() {
            if rest.starts_with("//") {
                let line = rest.find('\n').unwrap_or(rest.len());
                out.push_str(&rest[..line]);
                rest = &rest[line..];
                continue;
            }
            let length =
                if is_name(first) { rest.find(|c| !is_name(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
            let (word, behind) = rest.split_at(length);
            match self.arrays.get(word).filter(|_| behind.starts_with('[')) {
                Some(is_quad) => rest = self.access(word, *is_quad, behind, &mut out),
                None => {
                    out.push_str(word);
                    rest = behind;
                }
            }
        }
        out
    }

    /// Of `name[i]` or `name[i][j]`; returns what stands behind it, or behind the statement where it is assigned to.
    fn access<'a>(&self, name: &str, is_quad: bool, behind: &'a str, out: &mut String) -> &'a str {
        let first = brackets(behind);
        let second = if is_quad { brackets(&behind[first..]) } else { 0 };
        let (index, rest) = behind.split_at(first + second);
        let place = format!("{name}{}", self.all(index));
        let (from, to) = match is_quad && second == 0 {
            true => ("vec4<f32>", "to_half_quad"),
            false => ("f32", "to_half"),
        };
        let operator = rest.trim_start();
        let assigned = ["+= ", "-= ", "*= ", "= "].into_iter().find_map(|o| Some((o, operator.strip_prefix(o)?)));
        let Some((operator, value)) = assigned else {
            out.push_str(&format!("{from}({place})"));
            return rest;
        };
        let end = value.find(';').unwrap_or(value.len());
        let new = self.all(&value[..end]);
        let new = match operator.strip_suffix("= ").unwrap_or_default() {
            "" => new,
            compound => format!("{from}({place}) {compound} ({new})"),
        };
        out.push_str(&format!("{place} = {to}({new})"));
        &value[end..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_are_converted() {
        let text = "// a[1] stays
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> words: array<u32>;
fn f() { b[i] = a[b2[i]][j % 4u] + aa[1]; b[i + u32(b[0])] += a[i / 4u].x * b[1]; c[i] = a[i]; if b[i] == 1.0 { } words[1]; }";
        let want = "// a[1] stays
@group(0) @binding(1) var<storage, read> a: array<vec4<f16>>;
@group(0) @binding(2) var<storage, read_write> b: array<f16>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> words: array<u32>;
fn f() { b[i] = to_half(f32(a[b2[i]][j % 4u]) + aa[1]); b[i + u32(f32(b[0]))] = to_half(f32(b[i + u32(f32(b[0]))]) + \
                    (vec4<f32>(a[i / 4u]).x * f32(b[1]))); c[i] = vec4<f32>(a[i]); if f32(b[i]) == 1.0 { } words[1]; }";
        assert_eq!(halved(text, 0b110), format!("enable f16;\n{TO_HALF}{want}"));
        assert_eq!(halved(text, 0), text);
    }
}
