//! The report of a run: one HTML file with its figures inside, no script, nothing loaded from elsewhere.

use crate::base::fs;
use std::path::{Path, PathBuf};

use super::palette::DARK;
use super::svg::Ink;
use super::text::escape;
use crate::error::{Error, Result};
use crate::system::write_atomic;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HtmlReport {
    pub title: String,
    /// What a reader should know first, above the key facts.
    pub lead: Vec<Section>,
    /// Key facts: (name, value).
    pub summary: Vec<(String, String)>,
    pub sections: Vec<Section>,
}

/// How a section is marked; its words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Warning,
    Bad,
    Unknown,
}

impl Tone {
    /// The class of a section in report.css.
    fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Good => " class=\"verdict good\"",
            Tone::Warning => " class=\"verdict warning\"",
            Tone::Bad => " class=\"verdict bad\"",
            Tone::Unknown => " class=\"verdict unknown\"",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    pub heading: String,
    pub tone: Tone,
    /// One of the sections below the last that is not: its heading is smaller.
    pub minor: bool,
    /// Paragraphs.
    pub text: Vec<String>,
    pub table: Option<HtmlTable>,
    /// (SVG file, caption); a relative path is taken from the working folder, else from the report's folder.
    pub figures: Vec<(PathBuf, String)>,
    /// Shown as it is, such as the recipe.
    pub code: Option<String>,
    /// A name under which `replace_sections` finds the section's place again; one without content keeps a place free.
    pub slot: Option<String>,
    /// Sections behind it that share its slot.
    pub inside: Vec<Section>,
}

impl Section {
    fn is_empty(&self) -> bool {
        self.heading.is_empty()
            && self.text.is_empty()
            && self.table.is_none()
            && self.figures.is_empty()
            && self.code.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HtmlTable {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

const STYLE: &str = include_str!("report.css");

/// The page's own style, and the colours of its figures on a dark ground: the file of a figure stays black on white.
fn style() -> String {
    let swap = |(light, dark): &(Ink, Ink)| {
        let (from, to) = (light.hex(), dark.hex());
        format!("  .card [fill=\"{from}\"] {{ fill: {to}; }}\n  .card [stroke=\"{from}\"] {{ stroke: {to}; }}\n")
    };
    let rules: String = DARK.iter().map(swap).collect();
    format!("{STYLE}@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

/// Writes the report; fails when a figure cannot be read or is not a plain SVG.
pub fn write_report(path: &Path, report: &HtmlReport) -> Result<()> {
    let mut body = format!("<h1>{}</h1>\n", escape(&report.title));
    let mut figure_number = 0;
    for section in &report.lead {
        body.push_str(&section_html(path, section, &mut figure_number)?);
    }
    if !report.summary.is_empty() {
        body.push_str("<dl class=\"facts\">\n");
        for (name, value) in &report.summary {
            body.push_str(&format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value)));
        }
        body.push_str("</dl>\n");
    }
    for section in &report.sections {
        body.push_str(&section_html(path, section, &mut figure_number)?);
    }
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escape(&report.title),
        style()
    );
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, "create", &e))?;
    }
    write_atomic(path, page.as_bytes())
}

/// The comments around a slot; escaped text holds no such comment.
fn marks(slot: &str) -> (String, String) {
    (format!("<!-- {slot} -->\n"), format!("<!-- /{slot} -->\n"))
}

/// A section with its slot, if it has one; `number` counts the figures of the whole report.
fn section_html(path: &Path, section: &Section, number: &mut usize) -> Result<String> {
    let mut body = body_html(path, section, number)?;
    for section in &section.inside {
        body.push_str(&section_html(path, section, number)?);
    }
    Ok(match &section.slot {
        Some(slot) => {
            let (open, close) = marks(slot);
            format!("{open}{body}{close}")
        }
        None => body,
    })
}

fn body_html(path: &Path, section: &Section, number: &mut usize) -> Result<String> {
    let mut body = String::new();
    if !section.is_empty() {
        body.push_str(&format!("<section{}>\n", section.tone.class()));
        if !section.heading.is_empty() {
            let h = if section.minor { "h3" } else { "h2" };
            body.push_str(&format!("<{h}>{}</{h}>\n", escape(&section.heading)));
        }
        for paragraph in &section.text {
            body.push_str(&format!("<p>{}</p>\n", escape(paragraph)));
        }
        if let Some(table) = &section.table {
            body.push_str(&table_html(table));
        }
        for (svg, caption) in &section.figures {
            *number += 1;
            let drawing = read_svg(path, svg)?;
            body.push_str(&format!(
                "<figure>\n<div class=\"card\">\n{drawing}</div>\n{NUMBERED}{number}.</b> {}</figcaption>\n</figure>\n",
                escape(caption)
            ));
        }
        if let Some(code) = &section.code {
            body.push_str(&format!("<pre><code>{}</code></pre>\n", escape(code)));
        }
        body.push_str("</section>\n");
    }
    Ok(body)
}

/// What comes before the number of a figure; escaped text holds no such tags.
const NUMBERED: &str = "<figcaption><b>Figure ";

/// The figures of a page counted anew, from above.
fn renumber(page: &str) -> String {
    let mut parts = page.split(NUMBERED);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (i, part) in parts.enumerate() {
        let after = part.find('.').map_or("", |dot| &part[dot..]);
        out.push_str(&format!("{NUMBERED}{}{after}", i + 1));
    }
    out
}

/// Puts `sections` into the place `slot` of the report at `path`, instead of what stands there; at the end of a report that has
/// no such place. False where the file is no report.
pub fn replace_sections(path: &Path, slot: &str, sections: &[Section]) -> Result<bool> {
    let page = fs::read_to_string(path).map_err(|e| Error::io(path, "read", &e))?;
    let (open, close) = marks(slot);
    let mut html = open.clone();
    for section in sections {
        html.push_str(&body_html(path, section, &mut 0)?);
    }
    html.push_str(&close);
    let place = match (page.find(&open), page.find(&close)) {
        (Some(from), Some(to)) if from < to => from..to + close.len(),
        _ => match page.rfind("</main>") {
            Some(end) => end..end,
            None => return Ok(false),
        },
    };
    let mut new = page;
    new.replace_range(place, &html);
    write_atomic(path, renumber(&new).as_bytes())?;
    Ok(true)
}

/// Numbers stand to the right, so that digits line up.
fn is_number(cell: &str) -> bool {
    let first = cell.trim().trim_start_matches(['-', '−', '+', '±']);
    first.starts_with(|c: char| c.is_ascii_digit()) || matches!(first, "NaN" | "inf" | "–" | "—" | "")
}

fn table_html(table: &HtmlTable) -> String {
    let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
    let numeric: Vec<bool> = (0..columns)
        .map(|c| !table.rows.is_empty() && table.rows.iter().all(|r| r.get(c).is_none_or(|cell| is_number(cell))))
        .collect();
    let row = |cells: &[String], tag: &str| -> String {
        let cell = |c: usize| {
            let class = if numeric[c] { " class=\"n\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(cells.get(c).map_or("", String::as_str)))
        };
        format!("<tr>{}</tr>\n", (0..columns).map(cell).collect::<String>())
    };
    let mut out = String::from("<div class=\"scroll\"><table>\n");
    if !table.header.is_empty() {
        out.push_str(&format!("<thead>{}</thead>\n", row(&table.header, "th")));
    }
    out.push_str("<tbody>\n");
    for cells in &table.rows {
        out.push_str(&row(cells, "td"));
    }
    out.push_str("</tbody>\n</table></div>\n");
    out
}

/// An image whose pixels stand in the tag itself and that loads nothing. `tag` is in lower case.
fn is_embedded(tag: &str) -> bool {
    let Some((head, rest)) = tag.split_once(" href=\"data:image/png;base64,") else { return false };
    let Some((data, tail)) = rest.split_once('"') else { return false };
    let harmless = !(head.contains("href") || head.contains("url(") || head.contains(" on"));
    let is_code = data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    head.starts_with("image ") && harmless && is_code && tail == "/"
}

/// The `<svg>` element of a file; a file that could run or load something is refused.
fn read_svg(report: &Path, svg: &Path) -> Result<String> {
    let beside = report
        .parent()
        .map(|folder| folder.join(svg))
        .filter(|p| svg.is_relative() && !fs::exists(svg) && fs::exists(p));
    let file = beside.as_deref().unwrap_or(svg);
    let text = fs::read_to_string(file).map_err(|e| Error::io(file, "read", &e))?;
    let lower = text.to_ascii_lowercase();
    let start = lower.find("<svg");
    let end = lower.rfind("</svg>");
    // Words in a title come escaped, so that a tag is a tag; attributes are judged by their tags alone.
    let tags = lower.split('<').skip(1).filter_map(|part| part.split('>').next());
    let refused = tags.into_iter().find(|tag| {
        if is_embedded(tag) {
            return false;
        }
        let named = ["script", "foreignobject", "style", "image", "use", "a ", "iframe"]
            .iter()
            .any(|name| tag.starts_with(name));
        named || tag.contains("href") || tag.contains("url(") || tag.contains(" on")
    });
    match (start, end, refused) {
        (Some(start), Some(end), None) if start < end => Ok(text[start..end].to_owned() + "</svg>\n"),
        (_, _, Some(part)) => Err(Error::data(
            file.display().to_string(),
            format!("{part:?} in the SVG"),
            "shapes and text",
            "draw the figure again",
        )),
        _ => Err(Error::data(file.display().to_string(), "no <svg> element", "an SVG file", "draw the figure again")),
    }
}
