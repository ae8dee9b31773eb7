//! Metadata of a recipe key. `keys` declares them all with the macro at the end of this file, which makes the structs
//! of a recipe, their defaults and the list of keys from one declaration.

use super::Recipe;
use super::points;
use crate::base::Act;
use crate::error::either;
use std::path::PathBuf;
use toml::Value;

/// Largest number of a recipe: its square stays far within f32.
pub const MAX: f64 = points::MAX_SIZE;

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum ValueKind {
    Text,
    Choice(&'static [&'static str]),
    Bool,
    /// Whole number in [low, high].
    Whole(i64, i64),
    /// Number in [low, high].
    Number(f64, f64),
    /// Number in (low, high].
    Above(f64, f64),
    TextList,
    /// List of whole numbers, each in [low, high].
    WholeList(i64, i64),
    /// List of lists of two numbers, or of three of which the last is a class (`points`).
    PointList,
}

/// What a change does to a training that runs. In order: the worst of several changes counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Nothing,
    /// From the next step on, at no cost.
    Steers,
    /// Same weights and optimizer, a newly recorded program.
    Rebuilds,
    /// Other weights: from step 0.
    Restarts,
}

/// What a change from one recipe to another does.
pub type EffectOf = fn(&Recipe, &Recipe) -> Effect;

pub fn live(_: &Recipe, _: &Recipe) -> Effect {
    Effect::Steers
}

fn rebuild(_: &Recipe, _: &Recipe) -> Effect {
    Effect::Rebuilds
}

pub fn restart(_: &Recipe, _: &Recipe) -> Effect {
    Effect::Restarts
}

/// A flag of the command line that sets the key, such as `--lr X`.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Without the dashes.
    pub name: &'static str,
    /// What stands for the value in the help.
    pub value: &'static str,
    /// Part of how a table is read: a flag of every command that reads one.
    pub reads: bool,
    /// Its value may begin with a dash.
    pub dash: bool,
}

/// How the app shows the key.
#[derive(Debug, Clone, Copy)]
pub struct Widget {
    pub label: &'static str,
    /// Ends of its slider; a larger value can be typed.
    pub low: f64,
    pub high: f64,
}

pub struct Key {
    /// "train.lr", or "seed" outside of the sections.
    pub path: &'static str,
    pub kind: ValueKind,
    pub help: &'static str,
    pub flag: Option<Flag>,
    pub widget: Option<Widget>,
    /// What the app shows where the recipe leaves the key out.
    pub usual: Option<f64>,
    /// Changes no result: recipes that differ in it alone are of one experiment.
    pub cosmetic: bool,
    pub is_file: bool,
    pub(super) effect: EffectOf,
    access: Access,
}

/// How a recipe's value of a key is reached.
pub(super) struct Access {
    pub value: fn(&Recipe) -> Option<Value>,
    pub equal: fn(&Recipe, &Recipe) -> bool,
    pub copy: fn(&mut Recipe, &Recipe),
}

impl Key {
    pub(super) const fn new<T: Field>(path: &'static str, help: &'static str, effect: EffectOf, access: Access) -> Key {
        Key {
            path,
            kind: T::KIND,
            help,
            flag: None,
            widget: None,
            usual: None,
            cosmetic: false,
            is_file: T::IS_FILE,
            effect,
            access,
        }
    }

    /// What messages call it: its path, or in the window the words at its control.
    pub fn said(&self) -> String {
        either(self.path, self.words())
    }

    /// The words at its control, else the last part of its path.
    pub fn words(&self) -> String {
        match &self.widget {
            Some(widget) => widget.label.into(),
            None => self.path.rsplit('.').next().unwrap_or(self.path).replace('_', " "),
        }
    }

    /// The recipe's value as TOML; None where it leaves the key out.
    pub fn value(&self, recipe: &Recipe) -> Option<Value> {
        (self.access.value)(recipe)
    }

    /// As in a recipe's text; None where vifo chooses by itself.
    pub fn default(&self) -> Option<String> {
        self.value(&Recipe::default()).map(|v| v.to_string())
    }

    pub fn differs(&self, a: &Recipe, b: &Recipe) -> bool {
        !(self.access.equal)(a, b)
    }

    /// Puts the value of `from` into `to`.
    pub fn copy(&self, to: &mut Recipe, from: &Recipe) {
        (self.access.copy)(to, from);
    }

    /// What the change of this key from `a` to `b` does to a training that runs.
    pub fn effect(&self, a: &Recipe, b: &Recipe) -> Effect {
        (self.effect)(a, b)
    }
}

/// What stands behind the type and the default in a declaration. A wrong one is an error of the compiler.
impl Key {
    /// Whole numbers in [low, high], or lists of them.
    pub(super) const fn whole(mut self, low: i64, high: i64) -> Key {
        self.kind = match self.kind {
            ValueKind::Whole(..) => ValueKind::Whole(low, high),
            ValueKind::WholeList(..) => ValueKind::WholeList(low, high),
            _ => panic!("whole() is for whole numbers"),
        };
        self
    }

    /// Numbers in [low, high].
    pub(super) const fn range(mut self, low: f64, high: f64) -> Key {
        assert!(matches!(self.kind, ValueKind::Number(..)), "range() is for numbers");
        self.kind = ValueKind::Number(low, high);
        self
    }

    /// Numbers in (low, high].
    pub(super) const fn above(mut self, low: f64, high: f64) -> Key {
        assert!(matches!(self.kind, ValueKind::Number(..)), "above() is for numbers");
        self.kind = ValueKind::Above(low, high);
        self
    }

    /// Taken up by the next step of a training that runs.
    pub(super) const fn live(mut self) -> Key {
        self.effect = live;
        self
    }

    /// Taken up by a training that runs, which keeps its weights.
    pub(super) const fn rebuild(mut self) -> Key {
        self.effect = rebuild;
        self
    }

    /// It depends on the two recipes.
    pub(super) const fn effect_by(mut self, effect: EffectOf) -> Key {
        self.effect = effect;
        self
    }

    pub(super) const fn cosmetic(mut self) -> Key {
        self.cosmetic = true;
        self
    }

    /// `--name VALUE` of `vifo fit`.
    pub(super) const fn flag(mut self, name: &'static str, value: &'static str) -> Key {
        let dash = matches!(self.kind, ValueKind::Whole(..) | ValueKind::Number(..) | ValueKind::Above(..));
        self.flag = Some(Flag { name, value, reads: false, dash });
        self
    }

    /// `--name VALUE` of every command that reads a table.
    pub(super) const fn reading_flag(mut self, name: &'static str, value: &'static str) -> Key {
        self.flag = Some(Flag { name, value, reads: true, dash: false });
        self
    }

    /// The flag's value may begin with a dash: -1, or - itself.
    pub(super) const fn dash(mut self) -> Key {
        if let Some(mut flag) = self.flag {
            flag.dash = true;
            self.flag = Some(flag);
        }
        self
    }

    /// A slider of the app.
    pub(super) const fn slider(mut self, label: &'static str, low: f64, high: f64) -> Key {
        self.widget = Some(Widget { label, low, high });
        self
    }

    /// A field of the app, for all values that are allowed.
    pub(super) const fn label(mut self, label: &'static str) -> Key {
        let (low, high) = match self.kind {
            ValueKind::Whole(low, high) => (low as f64, high as f64),
            ValueKind::Number(low, high) | ValueKind::Above(low, high) => (low, high),
            _ => (0.0, 0.0),
        };
        self.widget = Some(Widget { label, low, high });
        self
    }

    pub(super) const fn usual(mut self, value: f64) -> Key {
        self.usual = Some(value);
        self
    }
}

/// A type that a key can have.
pub(super) trait Field {
    const KIND: ValueKind;
    const IS_FILE: bool = false;
    /// As TOML; None where it is absent.
    fn value(&self) -> Option<Value>;
    fn is_absent(&self) -> bool {
        false
    }
}

macro_rules! fields {
    ($($type:ty, $kind:expr, |$v:ident| $value:expr;)*) => {$(
        impl Field for $type {
            const KIND: ValueKind = $kind;
            fn value(&self) -> Option<Value> {
                let $v = self;
                Some($value)
            }
        }
    )*};
}

fields! {
    f64, ValueKind::Number(f64::MIN, f64::MAX), |v| Value::Float(*v);
    u32, ValueKind::Whole(0, u32::MAX as i64), |v| Value::Integer(i64::from(*v));
    usize, ValueKind::Whole(0, u32::MAX as i64), |v| Value::Integer(*v as i64);
    bool, ValueKind::Bool, |v| Value::Boolean(*v);
    String, ValueKind::Text, |v| Value::String(v.clone());
    Act, ValueKind::Choice(&["relu", "silu", "mish", "selu"]), |v| Value::String(match v { Act::Relu => "relu", Act::Silu => "silu", Act::Mish => "mish", Act::Selu => "selu" }.into());
    Vec<String>, ValueKind::TextList, |v| Value::Array(v.iter().cloned().map(Value::String).collect());
    Vec<u32>, ValueKind::WholeList(0, u32::MAX as i64), |v| Value::Array(v.iter().map(|n| Value::Integer(i64::from(*n))).collect());
    Vec<Vec<f64>>, ValueKind::PointList, |rows| {
        let row = |row: &Vec<f64>| Value::Array(row.iter().copied().map(Value::Float).collect());
        Value::Array(rows.iter().map(row).collect())
    };
}

impl Field for PathBuf {
    const KIND: ValueKind = ValueKind::Text;
    const IS_FILE: bool = true;
    fn value(&self) -> Option<Value> {
        Some(Value::String(self.display().to_string()))
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: ValueKind = T::KIND;
    const IS_FILE: bool = T::IS_FILE;
    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(T::value)
    }
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

/// `keys! { { top-level keys } section: Struct, effect { keys } ... }`; one key is
/// `field (as "name"): Type (= default), attributes, "help";` with the attributes of `Key`. A default that is left out is the
/// type's own: None of an `Option`, an empty list.
macro_rules! keys {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@default) => { ::std::default::Default::default() };
    (@default $default:expr) => { $default };
    (
        {$(
            $key:ident: $key_type:ty $(= $key_default:expr)? $(, $key_attr:ident $(($($key_arg:expr),*))?)*, $key_help:literal;
        )*}
        $($section:ident: $Section:ident, $effect:ident {$(
            $field:ident $(as $name:literal)?: $type:ty $(= $default:expr)? $(, $attr:ident $(($($arg:expr),*))?)*, $help:literal;
        )*})*
    ) => {
        /// One experiment: every key of every section, at its default unless it is set.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Recipe {
            $(
                #[doc = $key_help]
                #[serde(skip_serializing_if = "Field::is_absent")]
                pub $key: $key_type,
            )*
            $(
                #[doc = concat!("The section `[", stringify!($section), "]`.")]
                pub $section: $Section,
            )*
        }

        impl Default for Recipe {
            fn default() -> Recipe {
                Recipe {
                    $($key: keys!(@default $($key_default)?),)*
                    $($section: $Section::default(),)*
                }
            }
        }

        $(
            #[doc = concat!("The section `[", stringify!($section), "]` of a recipe.")]
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(default)]
            pub struct $Section {
                $(
                    #[doc = $help]
                    #[serde(skip_serializing_if = "Field::is_absent")]
                    $(#[serde(rename = $name)])?
                    pub $field: $type,
                )*
            }

            impl Default for $Section {
                fn default() -> $Section {
                    $Section { $($field: keys!(@default $($default)?),)* }
                }
            }
        )*

        /// The sections, in the order of a recipe's text.
        pub const SECTIONS: &[&str] = &[$(stringify!($section)),*];

        /// All keys, in the order of a recipe's text.
        pub const KEYS: &[Key] = &[
            $(
                Key::new::<$key_type>(stringify!($key), $key_help, restart, Access {
                    value: |r| r.$key.value(),
                    equal: |a, b| a.$key == b.$key,
                    copy: |to, from| to.$key.clone_from(&from.$key),
                })$(.$key_attr($($($key_arg),*)?))*,
            )*
            $($(
                Key::new::<$type>(
                    concat!(stringify!($section), ".", keys!(@name $field $($name)?)),
                    $help,
                    $effect,
                    Access {
                        value: |r| r.$section.$field.value(),
                        equal: |a, b| a.$section.$field == b.$section.$field,
                        copy: |to, from| to.$section.$field.clone_from(&from.$section.$field),
                    },
                )$(.$attr($($($arg),*)?))*,
            )*)*
        ];
    };
}
pub(super) use keys;

/// A key by its path, such as `key!(train.lr)`; one that does not exist is an error of the compiler.
macro_rules! key {
    ($key:ident) => {{
        const KEY: &$crate::recipe::keys::Key = $crate::recipe::keys::named(stringify!($key));
        KEY
    }};
    ($section:ident.$key:ident) => {{
        const KEY: &$crate::recipe::keys::Key =
            $crate::recipe::keys::named(concat!(stringify!($section), ".", stringify!($key)));
        KEY
    }};
}
pub(crate) use key;
/// A value in a message, not with hundreds of zeros.
pub(super) fn short(value: &Value) -> String {
    match value {
        Value::Float(v) if v.is_finite() && v.abs() >= 1e16 => format!("{v:e}"),
        value => value.to_string(),
    }
}
