//! Plays files in an app without a window and without a graphics card.

mod clips;
mod copies;
mod game;
mod hierarchy;
mod playing;
mod sequences;
mod trouble;
