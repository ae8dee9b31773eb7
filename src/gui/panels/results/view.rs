//! Predictions on the screen: a table whose headers sort it, with the image beside each row of a run on images.

use super::predictions::{Predictions, Sort};
use super::read::Pixels;
use crate::gui::panels::banner::Banner;
use crate::gui::panels::filter::Filter;
use crate::gui::panels::pick::take_result;
use crate::gui::settings::RowsShown;
use crate::gui::theme::seen_bars;
use crate::live::Job;
use crate::tables::grouped;
use eframe::egui::{self, Align, ColorImage, Image, Label, Layout, RichText, TextureHandle, TextureId, TextureOptions};
use egui_extras::{Column, TableBuilder};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Textures that are kept; more than a screen shows at once.
const MOST_THUMBNAILS: usize = 300;
const THUMBNAIL: f32 = 32.0;

pub struct View {
    pub predictions: Arc<Predictions>,
    pub title: String,
    pub notes: Vec<String>,
    pub images: Option<Thumbnails>,
    sort: Sort,
    /// Rows as they are shown.
    pub order: Vec<usize>,
    ordering: Option<Job<Vec<usize>>>,
    filter: String,
    wrong_only: bool,
}

/// Rows by certainty, all or the misclassified alone.
pub fn first_images(predictions: &Predictions, wrong_only: bool, certain_first: bool) -> Vec<usize> {
    let sort = Sort { descending: !certain_first, ..predictions.by_uncertainty() };
    predictions.order(sort, &Filter::default(), wrong_only)
}

impl View {
    pub fn new(ctx: &egui::Context, title: String, predictions: Arc<Predictions>, notes: Vec<String>) -> View {
        Self::shown_as(ctx, title, predictions, notes, &RowsShown::default())
    }

    /// In an order and narrowed as the user left them, as far as there are such columns.
    pub fn shown_as(
        ctx: &egui::Context,
        title: String,
        predictions: Arc<Predictions>,
        notes: Vec<String>,
        rows: &RowsShown,
    ) -> View {
        let column = rows.column.as_ref().and_then(|name| predictions.table.header.iter().position(|h| h == name));
        let chosen = column.map(|column| Sort { column, descending: rows.falling });
        let sort = chosen.unwrap_or_else(|| predictions.by_uncertainty());
        let order = (0..predictions.table.rows.len()).collect();
        let wrong_only = rows.wrong_only && predictions.classes.is_some();
        let filter = rows.filter.clone();
        let mut view =
            View { predictions, title, notes, images: None, sort, order, ordering: None, filter, wrong_only };
        view.sort_by(ctx, sort);
        view
    }

    pub fn shown(&self) -> RowsShown {
        let usual = self.sort == self.predictions.by_uncertainty();
        RowsShown {
            column: self.predictions.table.header.get(self.sort.column).filter(|_| !usual).cloned(),
            falling: !usual && self.sort.descending,
            filter: self.filter.clone(),
            wrong_only: self.wrong_only,
        }
    }

    fn sort_by(&mut self, ctx: &egui::Context, sort: Sort) {
        self.sort = sort;
        let (predictions, wake) = (self.predictions.clone(), ctx.clone());
        let (filter, wrong) = (Filter::of(&self.filter), self.wrong_only);
        let work = move || Ok(predictions.order(sort, &filter, wrong));
        self.ordering = Some(Job::start("sorting", move || wake.request_repaint(), work));
    }

    /// What the rows are narrowed by, and how many are left.
    pub fn filter_ui(&mut self, ui: &mut egui::Ui) {
        let label = ui.label("filter");
        let field = egui::TextEdit::singleline(&mut self.filter).desired_width(150.0).hint_text("sd>2");
        let tip = "Words that must be somewhere in a row, and comparisons of a column: sd>2, entropy<=0.1. NAME:text looks in one column";
        let mut changed = ui.add(field).labelled_by(label.id).on_hover_text(tip).changed();
        if self.predictions.classes.is_some() {
            changed |= ui.checkbox(&mut self.wrong_only, "misclassified only").changed();
        }
        if changed {
            let sort = self.sort;
            self.sort_by(ui.ctx(), sort);
        }
        let all = self.predictions.table.rows.len();
        let shown = self.order.len();
        let count = |n: usize| grouped(&n.to_string());
        let rows = if all == 1 { "row" } else { "rows" };
        let text = match shown == all {
            true => format!("{} {rows}", count(all)),
            false => format!("{} of {} {rows}", count(shown), count(all)),
        };
        ui.label(text).on_hover_text("Click a header to sort by it, again to turn the order");
    }

    pub fn poll(&mut self, banner: &mut Banner) {
        if let Some(order) = take_result(&mut self.ordering, banner) {
            self.order = order;
        }
    }

    pub fn table_ui(&mut self, ui: &mut egui::Ui) {
        let mut asked = None;
        let with_images = self.images.is_some();
        let row_height = if with_images { THUMBNAIL + 4.0 } else { 21.0 };
        let (predictions, images, order, sort) = (&self.predictions, &mut self.images, &self.order, self.sort);
        seen_bars(ui);
        egui::ScrollArea::horizontal().id_salt("predictions across").auto_shrink([false, false]).show(ui, |ui| {
            let mut table = TableBuilder::new(ui)
                .id_salt(("predictions", with_images))
                .striped(true)
                .resizable(true)
                .auto_shrink([false, true])
                .min_scrolled_height(0.0)
                .cell_layout(Layout::left_to_right(Align::Center));
            if with_images {
                table = table.column(Column::exact(THUMBNAIL + 6.0));
            }
            for &c in &predictions.shown {
                table = table.column(Column::initial(predictions.widths[c]).at_least(40.0).clip(true));
            }
            table
                .header(24.0, |mut header| {
                    if with_images {
                        header.col(|_| {});
                    }
                    for &c in &predictions.shown {
                        header.col(|ui| {
                            if header_ui(ui, predictions, c, sort) {
                                let again = sort.column == c;
                                asked = Some(Sort { column: c, descending: !again || !sort.descending });
                            }
                        });
                    }
                })
                .body(|body| {
                    body.rows(row_height, order.len(), |mut row| {
                        let r = order[row.index()];
                        if let Some(images) = images.as_mut() {
                            row.col(|ui| images.thumbnail_ui(ui, r, &predictions.table.rows[r][0]));
                        }
                        for &c in &predictions.shown {
                            row.col(|ui| cell_ui(ui, predictions, r, c));
                        }
                    });
                });
        });
        if let Some(sort) = asked {
            self.sort_by(ui.ctx(), sort);
        }
    }
}

fn side(predictions: &Predictions, column: usize) -> Layout {
    let text = predictions.classes.is_some_and(|(a, b)| column == a || column == b);
    if predictions.numeric[column] && !text {
        Layout::right_to_left(Align::Center)
    } else {
        Layout::left_to_right(Align::Center)
    }
}

/// True when it is clicked.
fn header_ui(ui: &mut egui::Ui, predictions: &Predictions, column: usize, sort: Sort) -> bool {
    let name = &predictions.table.header[column];
    let shown = in_words(name);
    let arrow = match (sort.column == column, sort.descending) {
        (true, true) => " ▼",
        (true, false) => " ▲",
        _ => "",
    };
    ui.with_layout(side(predictions, column), |ui| {
        let button = egui::Button::new(RichText::new(format!("{shown}{arrow}")).strong()).frame(false).truncate();
        let tip = meaning(name).map_or_else(|| format!("Sort by {shown}"), |m| format!("{m} Click to sort."));
        let tip = if shown == *name { tip } else { format!("{tip}\nIn files and in the filter: {name}") };
        ui.add(button).on_hover_text(tip).clicked()
    })
    .inner
}

/// Of the columns that are predicted; those of a table have names of their own.
fn in_words(column: &str) -> String {
    match column {
        "aleatoric_sd" | "epistemic_sd" | "aleatoric_entropy" | "mutual_information" => column.replace('_', " "),
        _ if of_calibration(column).is_some() => format!("{} %", column.replace('_', " ")),
        _ => match column.strip_prefix('q').filter(|q| q.parse::<f64>().is_ok()) {
            Some(q) => format!("{q} %"),
            None => column.into(),
        },
    }
}

/// What a column that only a calibrated run has holds.
fn of_calibration(column: &str) -> Option<&'static str> {
    let (front, percent) = column.rsplit_once('_')?;
    percent.parse::<f64>().ok()?;
    Some(match front {
        "lower" => "Lower end of the calibrated interval: so many of 100 values lie within it.",
        "upper" => "Upper end of the calibrated interval: so many of 100 values lie within it.",
        "set" => "The calibrated set of classes: the true one is in it in so many of 100 cases.",
        _ => return None,
    })
}

fn meaning(column: &str) -> Option<&'static str> {
    Some(match column {
        q if q.starts_with('q') && q[1..].parse::<f64>().is_ok() => {
            "A quantile of the network, as before any calibration: so many of 100 values are smaller."
        }
        "line" => "Line of the row in its file.",
        "sd" => "Predictive standard deviation, in the target's unit.",
        "aleatoric_sd" => "Aleatoric: noise in the data, which more data does not reduce.",
        "epistemic_sd" => "Epistemic: what the model does not know, which more data reduces.",
        "entropy" => "Predictive entropy, the total uncertainty of the class, nats.",
        "aleatoric_entropy" => "Aleatoric part of the entropy: ambiguity of the data, nats.",
        "mutual_information" => {
            "Epistemic part of the entropy (mutual information): what the model does not know, nats."
        }
        _ => return of_calibration(column),
    })
}

fn cell_ui(ui: &mut egui::Ui, predictions: &Predictions, row: usize, column: usize) {
    let text = predictions.cell(row, column);
    let is_wrong = predictions.classes.is_some_and(|(_, p)| p == column) && predictions.is_wrong(row);
    ui.with_layout(side(predictions, column), |ui| {
        if is_wrong {
            let text = RichText::new(format!("{text} ✗")).strong().color(ui.visuals().error_fg_color);
            ui.add(Label::new(text).truncate()).on_hover_text("Not the true class");
        } else {
            ui.add(Label::new(text).truncate());
        }
    });
}

/// Images of the rows, made into textures as they come into sight.
pub struct Thumbnails {
    pixels: Pixels,
    textures: HashMap<usize, TextureHandle>,
    made: VecDeque<usize>,
}

impl Thumbnails {
    pub fn new(pixels: Pixels) -> Thumbnails {
        Thumbnails { pixels, textures: HashMap::new(), made: VecDeque::new() }
    }

    fn texture(&mut self, ctx: &egui::Context, i: usize) -> Option<&TextureHandle> {
        if !self.textures.contains_key(&i) {
            let bytes = self.pixels.image(i)?;
            let size = [self.pixels.w, self.pixels.h];
            let image = match self.pixels.c {
                1 => ColorImage::from_gray(size, bytes),
                3 => ColorImage::from_rgb(size, bytes),
                _ => return None,
            };
            if self.made.len() >= MOST_THUMBNAILS
                && let Some(oldest) = self.made.pop_front()
            {
                self.textures.remove(&oldest);
            }
            self.made.push_back(i);
            self.textures.insert(i, ctx.load_texture(format!("image {i}"), image, TextureOptions::NEAREST));
        }
        self.textures.get(&i)
    }

    /// The image of a row, and its size where its longer side is `side` points.
    pub fn fitted(&mut self, ctx: &egui::Context, row: usize, id: &str, side: f32) -> Option<(TextureId, egui::Vec2)> {
        let i = self.pixels.find(row, id)?;
        let (h, w) = (self.pixels.h as f32, self.pixels.w as f32);
        Some((self.texture(ctx, i)?.id(), egui::vec2(w, h) * (side / w.max(h))))
    }

    fn thumbnail_ui(&mut self, ui: &mut egui::Ui, row: usize, id: &str) {
        let Some((texture, size)) = self.fitted(ui.ctx(), row, id, THUMBNAIL) else { return };
        let image = Image::new((texture, size)).alt_text(format!("image {id}"));
        ui.add(image).on_hover_ui(|ui| {
            ui.add(Image::new((texture, size * (192.0 / THUMBNAIL))));
        });
    }
}
