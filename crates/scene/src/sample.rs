//! What a property is at a time: the one place that says how the source is interpolated.
