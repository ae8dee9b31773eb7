//! The first launch in four steps: the plot, the band, eta, and data of one's own. Shown once; asked for again at the top.

use crate::gui::settings::Tab;
use eframe::egui::{self, Color32, Key, Modifiers, Rect, RichText, Stroke};

/// What a step points at. Whoever draws it says where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Plot,
    Eta,
    YourData,
}

struct Step {
    target: Target,
    title: &'static str,
    text: &'static str,
}

const STEPS: [Step; 4] = [
    Step {
        target: Target::Plot,
        title: "A network in training",
        text: "It trains as you watch, on the points. Click beside them to add one, drag one to move it, right-click one to remove it: \
               the training follows at once. The slider below the plot goes back in time.",
    },
    Step {
        target: Target::Plot,
        title: "The band: how far off it may be",
        text: "A new point should lie within the inner shade in 68 of 100 cases, within the outer in 95. Part of the band is noise, the \
               scatter of the points. The rest is what the network does not know: untick \"aleatoric\" above the plot, and only \
               that is left.",
    },
    Step {
        target: Target::Eta,
        title: "How careful it is",
        text: "eta pulls the predictions towards a prior, eta_aux also where there is no data. Raise them and the band opens; \
               at 0 the network trusts its points alone. Other methods are in the list below.",
    },
    Step {
        target: Target::YourData,
        title: "Your own data",
        text: "Open a table or a folder of images there: vifo says what is in it, and trains on it with one click. \"Examples\" beside \
               it has ready ones with a task each. Show > Present fills the screen with the plot.",
    },
];

/// Where a target lies, for the tour of this frame.
pub fn mark(ctx: &egui::Context, target: Target, rect: Rect) {
    ctx.data_mut(|data| data.insert_temp(id(target), rect));
}

fn id(target: Target) -> egui::Id {
    egui::Id::unique(("tour", target as u8))
}

#[derive(Default)]
pub struct Tour {
    /// None where it is not shown.
    step: Option<usize>,
}

impl Tour {
    /// Returns the page that it is about.
    pub fn begin(&mut self) -> Tab {
        self.step = Some(0);
        Tab::Playground
    }

    pub fn is_shown(&self) -> bool {
        self.step.is_some()
    }

    /// True when it has ended, or was skipped: so it is by who goes to another page.
    pub fn tour_ui(&mut self, ctx: &egui::Context, tab: Tab) -> bool {
        let Some(at) = self.step else { return false };
        if tab != Tab::Playground {
            self.step = None;
            return true;
        }
        let step = &STEPS[at];
        // Before the data are held: asking the context meanwhile would wait for ever.
        let frame = ctx.cumulative_frame_nr();
        ctx.data_mut(|data| data.insert_temp(shown_id(), frame));
        let target = ctx.data(|data| data.get_temp::<Rect>(id(step.target)));
        let screen = ctx.content_rect();
        if let Some(rect) = target {
            ring(ctx, rect.intersect(screen));
        }
        let mut go = keys(ctx);
        let area = egui::Area::new(egui::Id::unique("tour")).order(egui::Order::Foreground).constrain(true);
        area.fixed_pos(corner(screen)).show(ctx, |ui| {
            egui::Frame::window(ui.style()).show(ui, |ui| {
                ui.set_width(SIZE.x.min(screen.width() - 40.0));
                let top = ui.cursor().top();
                ui.label(RichText::new(step.title).strong().size(15.0));
                ui.add(egui::Label::new(step.text).wrap());
                // As high at each step: "Next" stays under the pointer.
                ui.add_space((top + TEXT_HEIGHT - ui.cursor().top()).max(4.0));
                go = go.or(steps_ui(ui, at));
            });
        });
        self.step = match go {
            None => Some(at),
            Some(Go::Back) => Some(at.saturating_sub(1)),
            Some(Go::Next) => Some(at + 1).filter(|next| *next < STEPS.len()),
            Some(Go::Skip) => None,
        };
        self.step.is_none()
    }
}

fn shown_id() -> egui::Id {
    egui::Id::unique("tour shown")
}

/// Whether it lies over the page: what plots read out would lie over it.
pub fn is_over(ctx: &egui::Context) -> bool {
    let last = ctx.data(|data| data.get_temp::<u64>(shown_id()));
    last.is_some_and(|frame| frame + 1 >= ctx.cumulative_frame_nr())
}

#[derive(Debug, Clone, Copy)]
enum Go {
    Back,
    Next,
    Skip,
}

/// Keys that the tour takes while it is shown.
fn keys(ctx: &egui::Context) -> Option<Go> {
    let pressed = |key| ctx.input_mut(|i| i.consume_key(Modifiers::NONE, key));
    if pressed(Key::Escape) {
        Some(Go::Skip)
    } else if pressed(Key::ArrowRight) || pressed(Key::Enter) {
        Some(Go::Next)
    } else if pressed(Key::ArrowLeft) {
        Some(Go::Back)
    } else {
        None
    }
}

/// Of the card without its frame, about.
const SIZE: egui::Vec2 = egui::vec2(360.0, TEXT_HEIGHT + 24.0);
/// Of the longest words and their title.
const TEXT_HEIGHT: f32 = 140.0;

/// The same at each step, and below the plot that most of the steps are about.
fn corner(screen: Rect) -> egui::Pos2 {
    // Of the frame, and of the bar at the foot.
    screen.max - SIZE - egui::vec2(36.0, 68.0)
}

/// The buttons, "Next" at the end of the row.
fn steps_ui(ui: &mut egui::Ui, at: usize) -> Option<Go> {
    let mut go = None;
    let last = at + 1 == STEPS.len();
    let row = egui::vec2(ui.available_width(), ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(row, egui::Layout::right_to_left(egui::Align::Center), |ui| {
        let next = egui::Button::new(if last { "Done" } else { "Next" }).min_size(egui::vec2(60.0, 0.0));
        if ui.add(next).on_hover_text("Enter or the right arrow").clicked() {
            go = Some(Go::Next);
        }
        if ui.add_enabled(at > 0, egui::Button::new("Back")).clicked() {
            go = Some(Go::Back);
        }
        let tip = "Esc. \"Tour\" at the top shows it again";
        if !last && ui.button("Skip the tour").on_hover_text(tip).clicked() {
            go = Some(Go::Skip);
        }
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.weak(format!("{} of {}", at + 1, STEPS.len()));
        });
    });
    go
}

fn ring(ctx: &egui::Context, rect: Rect) {
    let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("tour ring"));
    let stroke = Stroke::new(3.0, Color32::from_rgb(0xd5, 0x5e, 0x00));
    ctx.layer_painter(layer).rect_stroke(rect.expand(3.0), 6.0, stroke, egui::StrokeKind::Outside);
}
