//! The desktop app: its pages without a window (kittest clicks by label), and the real window under Xvfb.

mod bugs;
mod desk;
mod examples;
mod monkey;
mod pages;
mod plain;
mod play;
mod runs;
mod runs_acts;
mod show;
mod tour;
mod window;
mod words;
