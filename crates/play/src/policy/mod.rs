//! What a scene decides about a cache, as data.

pub mod rules;
