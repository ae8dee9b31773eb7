//! Where the words of a figure stand, by the outlines that the renderer gives their letters; what shapes become in the bitmap;
//! and whether the colours can be told apart, on white and on a dark page.

use resvg::usvg::{Group, Node, Rect as Box};

use super::palette::*;
use super::pixels::Pixels;
use super::png::{bitmap, parse};
use super::samples::sheet_image;
use super::svg::{Align, Ink, Rect, Stroke, Svg};
use super::text::text_width;

/// (text, box around its letters) for each text, and the boxes of all other shapes.
fn boxes(group: &Group, texts: &mut Vec<(String, Box)>, shapes: &mut Vec<Box>) {
    for node in group.children() {
        match node {
            Node::Group(inner) => boxes(inner, texts, shapes),
            Node::Text(text) => {
                let words = text.chunks().iter().map(|c| c.text()).collect();
                texts.push((words, text.flattened().abs_bounding_box()));
            }
            other => shapes.push(other.abs_bounding_box()),
        }
    }
}

/// What is wrong with where things stand in a figure; None if nothing is.
pub fn fault(svg: &str) -> Option<String> {
    let tree = match parse(svg) {
        Ok(tree) => tree,
        Err(e) => return Some(e.to_string()),
    };
    let (mut texts, mut shapes) = (vec![], vec![]);
    boxes(tree.root(), &mut texts, &mut shapes);
    let wanted =
        svg.split("<text ").skip(1).filter(|t| !t.split_once('>').is_some_and(|t| t.1.starts_with('<'))).count();
    if texts.len() != wanted {
        return Some(format!("{} of {wanted} texts have letters", texts.len()));
    }
    let (width, height) = (tree.size().width(), tree.size().height());
    let inside =
        |b: &Box| b.left() >= -0.01 && b.top() >= -0.01 && b.right() <= width + 0.01 && b.bottom() <= height + 0.01;
    if let Some((text, place)) = texts.iter().find(|(_, b)| !inside(b)) {
        return Some(format!("{text:?} leaves the figure: {place:?}"));
    }
    if let Some(place) = shapes.iter().find(|b| !inside(b)) {
        return Some(format!("a shape leaves the figure: {place:?}"));
    }
    let meet =
        |a: &Box, b: &Box| a.left() < b.right() && b.left() < a.right() && a.top() < b.bottom() && b.top() < a.bottom();
    for (i, (text, place)) in texts.iter().enumerate() {
        if let Some((other, _)) = texts[..i].iter().find(|(_, b)| meet(place, b)) {
            return Some(format!("{text:?} and {other:?} overlap"));
        }
    }
    None
}

const RED: Ink = Ink::new(200, 0, 0);

fn figure(draw: impl FnOnce(&mut Svg)) -> String {
    let mut svg = Svg::new((100.0, 60.0), "a test");
    draw(&mut svg);
    svg.finish()
}

#[test]
fn words_out_of_place_are_found() {
    let text = |s: &mut Svg, words: &str, at| s.text(words, at, 12.0, TEXT, Align::Start, false);
    assert_eq!(fault(&figure(|s| text(s, "in place", (5.0, 20.0)))), None);
    type Draw<'a> = &'a dyn Fn(&mut Svg);
    let faults: [(Draw, &str); 4] = [
        (&|s| text(s, "much too far to the right", (5.0, 20.0)), "leaves the figure"),
        (&|s| s.text("up", (10.0, 5.0), 12.0, TEXT, Align::Start, true), "leaves the figure"),
        (&|s| s.polyline(&[(5.0, 5.0), (120.0, 5.0)], Stroke::solid(RED, 1.0)), "a shape leaves the figure"),
        (&|s| [20.0, 26.0].into_iter().for_each(|y| text(s, "twice", (5.0, y))), "\"twice\" and \"twice\" overlap"),
    ];
    for (draw, words) in faults {
        let found = fault(&figure(draw)).unwrap_or_default();
        assert!(found.contains(words), "{found:?} is not {words:?}");
    }
    assert!(fault("no drawing").is_some());
    let foreign = figure(|s| text(s, "word", (5.0, 20.0))).replace(">word<", "><tspan>word</tspan><");
    assert!(fault(&foreign).is_some_and(|f| f.contains("texts have letters")));
}

/// Layouts rely on `text_width`: the renderer's letters, kerned, are about as wide and never wider.
#[test]
fn text_is_as_wide_as_it_is_measured() {
    for words in
        ["observed coverage", "VIFO (AUROC 0.904)", "−2.5×10⁻⁶", "AVAToTy", "fi fl ffi", "log loss, nats ↓", "x₁ ± σ"]
    {
        for upward in [false, true] {
            let mut svg = Svg::new((400.0, 400.0), "");
            svg.text(words, (200.0, 200.0), 20.0, TEXT, Align::Middle, upward);
            let tree = parse(&svg.finish()).unwrap();
            let mut texts = vec![];
            boxes(tree.root(), &mut texts, &mut vec![]);
            let b = texts[0].1;
            let drawn = f64::from(if upward { b.height() } else { b.width() });
            let measured = text_width(words, 20.0);
            assert!(drawn <= measured && drawn > 0.8 * measured, "{words}: {drawn} is not {measured}");
            let middle = f64::from(if upward { b.top() + b.bottom() } else { b.left() + b.right() }) / 2.0;
            assert!((middle - 200.0).abs() < 2.5, "{words}: its middle is at {middle}");
        }
    }
}

#[test]
fn shapes_are_where_they_are_drawn() {
    let svg = figure(|s| {
        s.rect(Rect { left: 10.0, top: 10.0, right: 20.0, bottom: 20.0 }, RED);
        s.rect(Rect { left: 30.0, top: 10.0, right: 40.0, bottom: 20.0 }, RED.alpha(0.5));
        s.outline(Rect { left: 50.0, top: 10.0, right: 60.0, bottom: 20.0 }, Stroke::solid(RED, 2.0));
        s.circles(&[(15.0, 40.0)], 5.0, RED);
        s.polygon(&[(30.0, 30.0), (40.0, 30.0), (40.0, 50.0), (30.0, 50.0)], RED);
        s.polyline(&[(50.0, 40.0), (80.0, 40.0)], Stroke::dashed(RED, 4.0, 10.0, 10.0));
        s.cells(&[(Rect { left: 85.0, top: 10.0, right: 90.3, bottom: 20.3 }, RED)]);
    });
    let image = bitmap(&svg, 2.0).unwrap();
    assert_eq!((image.width, image.height, image.rgb.len()), (200, 120, 200 * 120 * 3));
    let at = |x: f64, y: f64| {
        let (x, y) = ((2.0 * x) as usize, (2.0 * y) as usize);
        <[u8; 3]>::try_from(&image.rgb[(y * 200 + x) * 3..][..3]).unwrap()
    };
    let (red, white) = ([200, 0, 0], [255; 3]);
    let inside = [
        (10.0, 10.0),
        (19.5, 19.5),
        (49.0, 9.0),
        (60.5, 20.5),
        (15.0, 40.0),
        (35.0, 49.0),
        (55.0, 40.0),
        (75.0, 41.5),
        (90.0, 20.0),
    ];
    let outside = [
        (9.5, 10.0),
        (20.0, 19.0),
        (55.0, 15.0),
        (48.5, 15.0),
        (10.5, 35.5),
        (35.0, 29.5),
        (65.0, 40.0),
        (90.5, 15.0),
        (95.0, 55.0),
    ];
    inside.into_iter().for_each(|(x, y)| assert_eq!(at(x, y), red, "{x} {y}"));
    outside.into_iter().for_each(|(x, y)| assert_eq!(at(x, y), white, "{x} {y}"));
    let [r, g, b] = at(35.0, 15.0);
    assert!(r.abs_diff(228) < 2 && g.abs_diff(128) < 2 && b.abs_diff(128) < 2, "{r} {g} {b}");
}

/// An 8 x 8 image in the bitmap: every pixel of it is a block of one colour, nothing is blurred or lost.
#[test]
fn an_image_keeps_its_pixels() {
    let image = sheet_image(1, 8, 3);
    let pixels = Pixels::new(&image.bytes, 8, 8, 3).unwrap();
    let bitmap = bitmap(&figure(|s| s.image((2.5, 4.0), 1.5, &pixels)), 2.0).unwrap();
    for y in 0..60 * 2 {
        for x in 0..100 * 2 {
            let inside = |v: usize, from: usize| v.checked_sub(from).map(|v| v / 3).filter(|v| *v < 8);
            let want = match (inside(x, 5), inside(y, 8)) {
                (Some(column), Some(row)) => &image.bytes[(row * 8 + column) * 3..][..3],
                _ => &[255; 3],
            };
            assert_eq!(&bitmap.rgb[(y * 200 + x) * 3..][..3], want, "{x} {y}");
        }
    }
}

/// Contrast of two colours, 1..=21 (WCAG 2.2, "contrast ratio").
fn contrast(a: Ink, b: Ink) -> f64 {
    let light = |ink: Ink| {
        let linear = |v: u8| match f64::from(v) / 255.0 {
            v if v <= 0.04045 => v / 12.92,
            v => ((v + 0.055) / 1.055).powf(2.4),
        };
        let (r, g, b) = ink.rgb;
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05
    };
    light(a).max(light(b)) / light(a).min(light(b))
}

fn dark(ink: Ink) -> Ink {
    DARK.into_iter().find(|(light, _)| *light == ink).map_or(ink, |(_, dark)| dark)
}

#[test]
fn colours_are_seen_on_white_and_on_a_dark_page() {
    let black_on_white = contrast(Ink::new(0, 0, 0), Ink::new(255, 255, 255));
    assert!((black_on_white - 21.0).abs() < 1e-9, "{black_on_white}");
    for (ground, of) in [(WHITE, (|ink| ink) as fn(Ink) -> Ink), (DARK_GROUND, dark)] {
        for ink in [TEXT, MUTED] {
            assert!(contrast(of(ink), ground) > 7.0, "{ink:?}: {}", contrast(of(ink), ground));
        }
        for ink in (0..8).map(series).chain([FRAME]) {
            assert!(
                contrast(of(ink), ground) > if ground == WHITE { 2.0 } else { 3.0 },
                "{ink:?}: {}",
                contrast(of(ink), ground)
            );
        }
        let grid = contrast(of(GRID), ground);
        assert!(grid > 1.2 && grid < 1.8, "{grid}");
    }
    // A pair that white tells apart is told apart on a dark page.
    let apart = |a: Ink, b: Ink| {
        let each = [(a.rgb.0, b.rgb.0), (a.rgb.1, b.rgb.1), (a.rgb.2, b.rgb.2)];
        each.iter().map(|(a, b)| u32::from(a.abs_diff(*b))).sum::<u32>()
    };
    for (a, b) in (0..8).flat_map(|i| (0..i).map(move |j| (series(i), series(j)))) {
        assert!(apart(dark(a), dark(b)) >= apart(a, b).min(120), "{a:?} and {b:?}");
    }
}
