//! How every plot is moved about and read: the wheel zooms at the pointer, a drag pans, a double click shows all; with the keyboard
//! the arrows move a cross, + and - zoom at it, Home shows all. What lies under pointer or cross is read out, on the screen and
//! to a screen reader.

use eframe::egui::{self, EventFilter, Key, Modifiers, Pos2, Stroke, Vec2};
use egui_plot::{HoverPosition, Plot, PlotPoint, PlotResponse, PlotUi};

/// Words for what every plot does, for the hint beside it.
pub const HINT: &str = "Wheel zooms at the pointer, drag pans, double click shows all.";

/// Screen points of the wheel that zoom by a factor of e.
const WHEEL: f32 = 200.0;
/// Zoom of a key.
const KEY_ZOOM: f32 = 1.25;
/// Share of the range that an arrow key moves the cross by.
const KEY_STEP: f64 = 1.0 / 40.0;

/// What a plot is called, and how a place on it is read: in the plot's coordinates, None where there is nothing to say.
pub struct Reader<'a> {
    pub name: String,
    pub read: &'a dyn Fn(PlotPoint) -> Option<String>,
    /// Double clicks are left to the caller.
    pub own_double_click: bool,
}

impl<'a> Reader<'a> {
    pub fn new(name: impl Into<String>, read: &'a dyn Fn(PlotPoint) -> Option<String>) -> Reader<'a> {
        Reader { name: name.into(), read, own_double_click: false }
    }
}

/// Shows a plot; `add` gets the place of the keyboard's cross while the plot has the focus.
pub fn show<'a, R>(
    ui: &mut egui::Ui,
    plot: Plot<'a>,
    reader: &Reader<'a>,
    add: impl FnOnce(&mut PlotUi<'a>, Option<PlotPoint>) -> R + 'a,
) -> PlotResponse<R> {
    let read = reader.read;
    let label = move |at: &HoverPosition<'_>| match at {
        HoverPosition::NearDataPoint { position, .. } | HoverPosition::Elsewhere { position } => read(*position),
    };
    let plot = plot.allow_scroll(false).allow_double_click_reset(!reader.own_double_click).label_formatter(label);
    let shown = plot.show(ui, move |plot| {
        wheel(plot);
        let cross = keys(plot);
        (add(plot, cross), cross)
    });
    let PlotResponse { inner: (inner, cross), response, transform, hovered_plot_item } = shown;
    let place = cross.or_else(|| response.hover_pos().map(|p| transform.value_from_position(p)));
    let text = place.and_then(reader.read);
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, &reader.name);
        info.current_text_value.clone_from(&text);
        info
    });
    if let Some(cross) = cross {
        cross_ui(ui, &response, transform.position_from_point(&cross), transform.frame(), text);
    }
    PlotResponse { inner, response, transform, hovered_plot_item }
}

fn wheel(plot: &mut PlotUi) {
    if !plot.response().contains_pointer() {
        return;
    }
    let turned = plot.ctx().input_mut(|i| std::mem::take(&mut i.smooth_scroll_delta));
    if turned.y != 0.0 {
        plot.zoom_bounds_around_hovered(Vec2::splat((turned.y / WHEEL).exp()));
    }
}

/// What the keys do while the plot has the focus; the place of the cross.
fn keys(plot: &mut PlotUi) -> Option<PlotPoint> {
    let id = plot.response().id;
    if !plot.response().has_focus() {
        return None;
    }
    let ctx = plot.ctx().clone();
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ctx.memory_mut(|m| m.set_focus_lock_filter(id, filter));
    let bounds = plot.plot_bounds();
    let middle = || [0, 1].map(|i| 0.5 * (bounds.min()[i] + bounds.max()[i]));
    let mut at = ctx.data(|d| d.get_temp::<[f64; 2]>(id)).unwrap_or_else(middle);
    let pressed = |key: Key| ctx.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    for (key, axis, sign) in
        [(Key::ArrowLeft, 0, -1.0), (Key::ArrowRight, 0, 1.0), (Key::ArrowDown, 1, -1.0), (Key::ArrowUp, 1, 1.0)]
    {
        if pressed(key) {
            at[axis] += sign * KEY_STEP * (bounds.max()[axis] - bounds.min()[axis]);
        }
    }
    for axis in [0, 1] {
        // `clamp` would panic on a range that is none.
        at[axis] = at[axis].min(bounds.max()[axis]).max(bounds.min()[axis]);
    }
    ctx.data_mut(|d| d.insert_temp(id, at));
    let cross = PlotPoint::new(at[0], at[1]);
    if pressed(Key::Plus) || pressed(Key::Equals) {
        plot.zoom_bounds(Vec2::splat(KEY_ZOOM), cross);
    }
    if pressed(Key::Minus) {
        plot.zoom_bounds(Vec2::splat(1.0 / KEY_ZOOM), cross);
    }
    if pressed(Key::Home) {
        plot.set_auto_bounds(true);
    }
    Some(cross)
}

fn cross_ui(ui: &egui::Ui, response: &egui::Response, at: Pos2, frame: &egui::Rect, text: Option<String>) {
    let painter = ui.painter().with_clip_rect(*frame);
    let stroke = Stroke::new(1.0, ui.visuals().text_color().gamma_multiply(0.6));
    painter.hline(frame.x_range(), at.y, stroke);
    painter.vline(at.x, frame.y_range(), stroke);
    painter.rect_stroke(*frame, 2.0, ui.visuals().selection.stroke, egui::StrokeKind::Inside);
    // Under the mouse the plot shows its own.
    let Some(text) = text.filter(|_| !response.hovered()) else { return };
    let font = egui::TextStyle::Small.resolve(ui.style());
    let galley = painter.layout_no_wrap(text, font, ui.visuals().text_color());
    let mut place = egui::Rect::from_min_size(at + Vec2::splat(8.0), galley.size()).expand(4.0);
    let over = Vec2::new((place.right() - frame.right()).max(0.0), (place.bottom() - frame.bottom()).max(0.0));
    place = place.translate(-over);
    painter.rect_filled(place, 3.0, ui.visuals().extreme_bg_color.gamma_multiply(0.9));
    painter.galley(place.shrink(4.0).min, galley, ui.visuals().text_color());
}
