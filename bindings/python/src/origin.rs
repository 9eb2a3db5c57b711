//! The origin of an open file. Reels, clips and rigs are pickled as their origin; unpickling opens the file
//! again.

use crate::errors::from_runtime;
use meshreel::raw::format::ReadAt;
use meshreel::{Error, Reel};
use meshreel_check::machine_limits;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::io;
use std::path::{PathBuf, absolute};
use std::sync::Arc;

/// The path or the content of a file, and the limit of its memory in bytes, if it is not the default.
#[derive(Clone)]
pub struct Origin {
    source: Source,
    max_memory: Option<u64>,
}

#[derive(Clone)]
enum Source {
    /// The path as it was given, and the absolute path, which stays valid if the working directory changes.
    Path {
        given: PathBuf,
        absolute: PathBuf,
    },
    Bytes(Arc<Content>),
}

/// The bytes of a file, in the memory of a Python object.
struct Content(PyBackedBytes);

impl ReadAt for Content {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..));
        let from = from.and_then(|from| from.get(..out.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(from);
        Ok(())
    }
}

impl Origin {
    /// Creates an origin; `source` is a path or bytes.
    pub fn new(source: &Bound<'_, PyAny>, max_memory: Option<u64>) -> PyResult<Origin> {
        let source = match source.extract::<PyBackedBytes>() {
            Ok(bytes) => Source::Bytes(Arc::new(Content(bytes))),
            Err(_) => {
                let given: PathBuf = source.extract()?;
                Source::Path { absolute: absolute(&given)?, given }
            }
        };
        Ok(Origin { source, max_memory })
    }

    /// Opens the file.
    pub fn open(&self) -> Result<Reel, Error> {
        let mut limits = machine_limits();
        if let Some(bytes) = self.max_memory {
            limits = limits.with_max_memory(bytes);
        }
        match &self.source {
            Source::Path { given, .. } => Reel::open(given, &limits),
            Source::Bytes(bytes) => Reel::from_named_source(bytes.clone(), "bytes", &limits),
        }
    }

    /// Returns the path as it was given; `None` for bytes.
    pub fn path(&self) -> Option<String> {
        match &self.source {
            Source::Path { given, .. } => Some(given.display().to_string()),
            Source::Bytes(_) => None,
        }
    }

    /// Returns arguments for [`Origin::new`], valid in this process and in others: a path is absolute.
    pub fn arguments<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Option<u64>)> {
        let source = match &self.source {
            Source::Path { absolute, .. } => absolute.as_os_str().into_pyobject(py)?.into_any(),
            Source::Bytes(bytes) => (&bytes.0).into_pyobject(py)?.into_any(),
        };
        Ok((source, self.max_memory))
    }

    /// Opens the file again, and returns the item with this number among those that `all` reads from it.
    /// IndexError if it does not exist.
    pub fn item<T>(
        &self,
        py: Python<'_>,
        number: usize,
        all: impl FnOnce(&Reel) -> PyResult<Vec<T>>,
    ) -> PyResult<T> {
        let reel = py.detach(|| self.open()).map_err(|error| from_runtime(py, error))?;
        let item = all(&reel)?.into_iter().nth(number);
        item.ok_or_else(|| PyIndexError::new_err(format!("number {number} is not in the file any more")))
    }
}
