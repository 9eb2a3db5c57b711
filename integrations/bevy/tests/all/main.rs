//! Plays files in an app without a window and without a graphics card.

mod clips;
mod conformance;
mod copies;
mod distance;
mod game;
mod hierarchy;
mod playing;
mod sequences;
mod trouble;
