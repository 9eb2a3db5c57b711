//! Writers, for taking a decoded file back to a content tool.
