//! Tests writers: what they write is read back, and evaluated by other code.

mod alembic_round_trip;
#[path = "../../read/tests/corpus/mod.rs"]
mod corpus;
#[path = "../../read/tests/difference/mod.rs"]
mod difference;
#[path = "../../read/tests/support/mod.rs"]
mod support;
mod write;
