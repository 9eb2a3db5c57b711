//! An open file: its tables and its description, checked against each other and against limits; the layout of
//! a decoded frame; and the types of static data.

pub(crate) mod chunk_content;
pub(crate) mod chunk_limits;
pub(crate) mod end_states;
pub(crate) mod fixed_point;
pub(crate) mod frame;
pub(crate) mod layout;
pub(crate) mod limits;
pub(crate) mod lod;
pub(crate) mod memory;
pub(crate) mod normals;
pub(crate) mod open;
pub(crate) mod open_file;
pub(crate) mod order;
pub(crate) mod quantized;
pub(crate) mod source_map;
pub(crate) mod statics;
pub(crate) mod unit;
pub(crate) mod visibility;
