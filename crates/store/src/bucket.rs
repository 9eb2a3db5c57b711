//! A bucket, and keys within it.

use object_store::ObjectStore;
pub use object_store::path::Path as Key;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A bucket, and the runtime for its requests.
#[derive(Clone)]
pub struct Bucket {
    pub runtime: Arc<Runtime>,
    pub store: Arc<dyn ObjectStore>,
}
