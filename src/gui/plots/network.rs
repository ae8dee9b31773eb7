//! A network as it stands: layers with their sizes, units coloured by what one input makes of them, weights as lines, and what the
//! outputs mean. Drawn with the painter alone.

use crate::gui::theme::Colours;
use crate::live::network::{Layer, Network, SHOWN};
use crate::tables::number;
use eframe::egui::{self, Align2, Color32, FontId, Pos2, Rect, Stroke, Vec2};

/// Layers beyond so many are a table, no picture.
const MOST_LAYERS: usize = 10;
/// A picture that would be lower than so many points stands without its words, which a hover shows.
const LOW: f32 = 180.0;
/// Points for the words above and below a layer.
const WORDS: f32 = 17.0;
/// Points on the right for names and values of the outputs.
const OUTPUTS: f32 = 178.0;

/// "12,345".
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    text
}

/// What the network is, and what its outputs mean, in a line each.
pub fn words(network: &Network, inputs: &[String]) -> Vec<String> {
    let numbers = thousands(network.parameters);
    let mut first = match network.members {
        1 => format!("{numbers} numbers are learnt."),
        n => format!("The first of {n} networks, each with {numbers} numbers of its own."),
    };
    if !network.input.is_empty() {
        let names = (0..network.input.len()).map(|i| inputs.get(i).map_or("x", String::as_str));
        let at: Vec<String> = names.zip(&network.input).map(|(n, v)| format!("{n} = {}", number(*v))).collect();
        first += &format!(" Colours: what {} makes of each unit; point at the plot to choose another.", at.join(", "));
    }
    let meaning = match network.doubled {
        true => {
            "Two heads: for each output its mean, and below it how sure that is, as a standard deviation (sd). An output is a normal \
             distribution here, not a number: where its sd is large, the network does not know."
        }
        false => {
            "Each output is one number. What the network does not know shows only where several networks, or several draws of its \
             weights, differ."
        }
    };
    let scale = match network.shown.is_empty() {
        true => "The outputs are on the network's own scale.",
        false => {
            "Beside the outputs stands what they mean in the plot's units; a unit itself, where the pointer is, has the network's own."
        }
    };
    vec![first, format!("{meaning} {scale}")]
}

/// Layers, units and numbers learnt as a table: for networks that are no picture, and for runs that are done.
pub fn layers_ui(ui: &mut egui::Ui, network: &Network) {
    egui::Grid::new("layers").striped(true).num_columns(3).spacing([24.0, 3.0]).show(ui, |ui| {
        for head in ["layer", "units", "numbers learnt"] {
            ui.strong(head);
        }
        ui.end_row();
        for layer in &network.layers {
            ui.label(&layer.name);
            ui.label(thousands(layer.units as usize));
            ui.label(thousands(layer.parameters));
            ui.end_row();
        }
    });
}

/// Places of a layer's units, top to bottom.
fn places(layer: &Layer, is_last: bool, x: f32, area: Rect) -> Vec<Pos2> {
    let n = if is_last { layer.units as usize } else { (layer.units as usize).min(SHOWN) }.clamp(1, 2 * SHOWN);
    let apart = (area.height() / n as f32).min(26.0);
    let top = area.center().y - apart * (n as f32 - 1.0) / 2.0;
    (0..n).map(|i| Pos2::new(x, top + apart * i as f32)).collect()
}

/// Below zero blue, above it orange, and nearer to the ground the nearer to zero.
fn shade(v: f32, most: f32, colours: &Colours, ground: Color32) -> Color32 {
    if !v.is_finite() {
        return colours.truth;
    }
    let share = (v.abs() / most.max(1e-6)).clamp(0.0, 1.0);
    ground.lerp_to_gamma(if v < 0.0 { colours.mean } else { colours.point }, share)
}

fn most(values: &[f32]) -> f32 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |most, v| most.max(v.abs()))
}

/// An output as it is written beside its circle.
fn value(network: &Network, last: &Layer, i: usize) -> Option<f64> {
    network.shown.get(i).copied().or_else(|| last.values.get(i).map(|v| f64::from(*v)))
}

/// How many of a wide layer's units are drawn, in `room` points.
fn of_units(layer: &Layer, drawn: usize, room: f32) -> String {
    match (layer.units as usize > drawn, room) {
        (false, _) => layer.name.clone(),
        (true, room) if room > 150.0 => format!("{} · {drawn} of {} shown", layer.name, layer.units),
        (true, room) if room > 84.0 => format!("{drawn} of {} shown", layer.units),
        (true, _) => format!("{drawn} of {}", layer.units),
    }
}

/// What is read aloud: layers and outputs.
fn spoken(network: &Network) -> String {
    let layers: Vec<String> = network.layers.iter().map(|l| format!("{} {}", l.name, l.units)).collect();
    let mut text = format!("Network: {}", layers.join(", "));
    if let Some(last) = network.layers.last().filter(|l| !l.values.is_empty()) {
        let values = (0..last.values.len()).map(|i| number(value(network, last, i).unwrap_or(f64::NAN)));
        let named = network.outputs.iter().zip(values).map(|(n, v)| format!("{n} {v}"));
        text += &format!("; {}", named.collect::<Vec<String>>().join(", "));
    }
    text
}

/// The picture, `height` points high.
pub fn network_ui(ui: &mut egui::Ui, network: &Network, inputs: &[String], height: f32) {
    let before = ui.available_height();
    // Where there is little room, the picture has it.
    let is_low = height < LOW;
    for line in words(network, inputs).iter().filter(|_| !is_low) {
        ui.add(egui::Label::new(egui::RichText::new(line).small()).wrap());
    }
    let height = (height - (before - ui.available_height())).max(90.0);
    if network.layers.len() > MOST_LAYERS || network.layers.len() < 2 {
        egui::ScrollArea::vertical().max_height(height).show(ui, |ui| layers_ui(ui, network));
        return;
    }
    let (response, painter) = ui.allocate_painter(Vec2::new(ui.available_width(), height), egui::Sense::hover());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, spoken(network)));
    let (rect, colours) = (response.rect, Colours::of(ui));
    let (ink, ground) = (ui.visuals().text_color(), ui.visuals().extreme_bg_color);
    painter.rect_filled(rect, 3.0, ground);
    let area = Rect::from_min_max(
        rect.min + Vec2::new(46.0, WORDS + 10.0),
        rect.max - Vec2::new(OUTPUTS.min(0.4 * rect.width()), WORDS + 8.0),
    );
    let last = network.layers.len() - 1;
    let at = |i: usize| area.left() + area.width() * i as f32 / last as f32;
    let columns: Vec<Vec<Pos2>> =
        network.layers.iter().enumerate().map(|(i, l)| places(l, i == last, at(i), area)).collect();
    for (i, layer) in network.layers.iter().enumerate().skip(1) {
        lines_ui(&painter, layer, &columns[i - 1], &columns[i], &colours);
    }
    let font = FontId::proportional(10.5);
    let radius = |places: &[Pos2]| match places {
        [a, b, ..] => (0.4 * (b.y - a.y)).clamp(2.0, 7.0),
        _ => 7.0,
    };
    let mut pointed = None;
    for (i, (layer, places)) in network.layers.iter().zip(&columns).enumerate() {
        let most = most(&layer.values);
        let r = radius(places);
        for (unit, place) in places.iter().enumerate() {
            let value = layer.values.get(unit).copied();
            let fill = value.map_or(ground, |v| shade(v, most, &colours, ground));
            painter.circle(*place, r, fill, Stroke::new(1.0, ink.gamma_multiply(0.7)));
            if response.hover_pos().is_some_and(|p| p.distance(*place) < r + 2.0) {
                let value = value.map_or(String::new(), |v| format!(": {}", number(f64::from(v))));
                pointed = Some(format!("{} unit {}{value}", layer.name, unit + 1));
            }
        }
        let title = of_units(layer, places.len(), area.width() / last as f32);
        painter.text(Pos2::new(at(i), rect.top() + 10.0), Align2::CENTER_CENTER, title, font.clone(), ink);
        if layer.parameters > 0 {
            let text = format!("{} learnt", thousands(layer.parameters));
            let place = Pos2::new(at(i), rect.bottom() - 10.0);
            painter.text(place, Align2::CENTER_CENTER, text, font.clone(), ink.gamma_multiply(0.8));
        }
    }
    if let (Some(layer), Some(places)) = (network.layers.last(), columns.last()) {
        outputs_ui(&painter, network, layer, places, ink);
    }
    if let Some(text) = pointed.or_else(|| is_low.then(|| words(network, inputs).join("\n"))) {
        response.on_hover_text_at_pointer(text);
    }
}

/// Weights between the units that are drawn, the larger the stronger.
fn lines_ui(painter: &egui::Painter, layer: &Layer, from: &[Pos2], to: &[Pos2], colours: &Colours) {
    let most = most(&layer.weights);
    for (a, weights) in to.iter().zip(layer.weights.chunks_exact(from.len().max(1))) {
        for (b, w) in from.iter().zip(weights) {
            let share = (w.abs() / most.max(1e-9)).min(1.0);
            if share > 0.06 {
                let colour = if *w < 0.0 { colours.mean } else { colours.point };
                painter.line_segment([*b, *a], Stroke::new(1.0, colour.gamma_multiply(0.75 * share)));
            }
        }
    }
}

/// Names and values beside the outputs; a line parts means from standard deviations.
fn outputs_ui(painter: &egui::Painter, network: &Network, layer: &Layer, places: &[Pos2], ink: Color32) {
    let font = FontId::proportional(if places.len() > 9 { 9.5 } else { 11.5 });
    for (i, place) in places.iter().enumerate() {
        let name = network.outputs.get(i).map_or("", String::as_str);
        let value = value(network, layer, i).map_or(String::new(), |v| format!(" {}", number(v)));
        painter.text(*place + Vec2::new(14.0, 0.0), Align2::LEFT_CENTER, format!("{name}{value}"), font.clone(), ink);
    }
    let half = places.len() / 2;
    if network.doubled && half > 0 {
        let y = 0.5 * (places[half - 1].y + places[half].y);
        let x = places[0].x;
        painter.extend(egui::Shape::dashed_line(
            &[Pos2::new(x - 16.0, y), Pos2::new(x + OUTPUTS - 24.0, y)],
            Stroke::new(1.0, ink.gamma_multiply(0.5)),
            4.0,
            3.0,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_words_say_what_a_doubled_output_means() {
        let mut network = Network { members: 3, parameters: 1234, input: vec![0.5], ..Network::default() };
        let plain = words(&network, &["t".into()]);
        assert!(
            plain[0].contains("1,234") && plain[0].contains("first of 3") && plain[0].contains("t = 0.5000"),
            "{plain:?}"
        );
        assert!(plain[1].contains("one number"));
        assert!(plain[1].contains("own scale"));
        network.shown = vec![1.0, 2.0];
        assert!(words(&network, &[])[1].contains("the plot's units"));
        network.doubled = true;
        assert!(words(&network, &[])[1].contains("Two heads"));
    }

    #[test]
    fn a_wide_layer_says_how_many_of_its_units_are_drawn() {
        let layer = |units| Layer { name: "hidden 1".into(), units, ..Layer::default() };
        let said = [(50, 200.0), (50, 100.0), (50, 40.0), (12, 40.0)].map(|(n, room)| of_units(&layer(n), 12, room));
        assert_eq!(said, ["hidden 1 · 12 of 50 shown", "12 of 50 shown", "12 of 50", "hidden 1"]);
    }
}
