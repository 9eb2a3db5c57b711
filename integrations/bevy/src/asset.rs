//! `.reel` files as assets. An asset is the file's tables; frames are streamed by the runtime.

use bevy::asset::io::{AssetSourceId, Reader};
use bevy::asset::{Asset, AssetLoader, AssetPath, AsyncReadExt, LoadContext};
use bevy::reflect::TypePath;
use meshreel::raw::format::ReadAt;
use meshreel::{Error, Limits};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open `.reel` file. Clones share it.
#[derive(Asset, TypePath, Debug, Clone)]
pub struct Reel {
    tables: meshreel::Reel,
    pub(crate) source: ReelSource,
}

/// The place that frames are read from.
#[derive(Clone)]
pub(crate) enum ReelSource {
    /// A file of the operating system, which is watched for changes.
    File(PathBuf),
    /// The whole file in memory, for sources of assets that are no files: packages, the web.
    Bytes(Arc<[u8]>),
}

impl std::fmt::Debug for ReelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReelSource::File(path) => f.debug_tuple("File").field(path).finish(),
            ReelSource::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).finish(),
        }
    }
}

impl Reel {
    /// Opens a file of the operating system, for games that do without the asset server. Its frames are not
    /// read.
    pub fn open(path: impl AsRef<Path>, limits: &Limits) -> Result<Reel, Error> {
        let path = path.as_ref();
        let tables = meshreel::Reel::open(path, limits)?;
        Ok(Reel { tables, source: ReelSource::File(path.into()) })
    }

    /// Opens a file that lies in memory. Errors call it `name`.
    pub fn from_bytes(
        name: impl AsRef<Path>,
        bytes: impl Into<Arc<[u8]>>,
        limits: &Limits,
    ) -> Result<Reel, Error> {
        let bytes = bytes.into();
        let source: Arc<dyn ReadAt> = Arc::new(bytes.clone());
        let tables = meshreel::Reel::from_named_source(source, name, limits)?;
        Ok(Reel { tables, source: ReelSource::Bytes(bytes) })
    }

    /// Returns the file's tables: nodes, meshes, materials, times of frames, clips.
    pub fn tables(&self) -> &meshreel::Reel {
        &self.tables
    }

    /// `true` if it is a file of the operating system, which the player watches.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.source, ReelSource::File(_))
    }
}

/// Loads `.reel` files. Those of the default asset source are opened where they lie and streamed; of any
/// other source they are read whole.
#[derive(TypePath, Debug)]
pub struct ReelLoader {
    /// The folder of the default asset source.
    root: PathBuf,
    limits: Limits,
}

impl ReelLoader {
    /// Creates a loader. `folder`: [`bevy::asset::AssetPlugin::file_path`].
    pub fn new(folder: &str, limits: Limits) -> ReelLoader {
        ReelLoader { root: base_path().join(folder), limits }
    }

    /// Returns the file of an asset, if its beginning is what the asset's reader has read: a source of
    /// another kind may be in the place of the default one.
    fn file(&self, path: &AssetPath<'_>, start: &[u8]) -> Option<PathBuf> {
        if *path.source() != AssetSourceId::Default || cfg!(target_family = "wasm") {
            return None;
        }
        let path = self.root.join(path.path());
        let mut same = vec![0; start.len()];
        File::open(&path).ok()?.read_exact(&mut same).ok()?;
        (same == start).then_some(path)
    }
}

/// Returns the folder that paths of the default asset source are relative to.
#[cfg(not(target_family = "wasm"))]
fn base_path() -> PathBuf {
    bevy::asset::io::file::FileAssetReader::get_base_path()
}

/// Returns nothing: in pages, assets are no files.
#[cfg(target_family = "wasm")]
fn base_path() -> PathBuf {
    PathBuf::new()
}

/// The bytes by which a file is recognized: its header, with its checksum and length.
const START_BYTES: u64 = 64;

impl AssetLoader for ReelLoader {
    type Asset = Reel;
    type Settings = ();
    type Error = Error;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        (): &(),
        context: &mut LoadContext<'_>,
    ) -> Result<Reel, Error> {
        let path = context.path().clone();
        let failed = |source| Error::Io { path: path.path().into(), what: "reading".into(), source };
        let mut bytes = Vec::new();
        reader.take(START_BYTES).read_to_end(&mut bytes).await.map_err(failed)?;
        if let Some(file) = self.file(&path, &bytes) {
            return Reel::open(file, &self.limits);
        }
        Reader::read_to_end(reader, &mut bytes).await.map_err(failed)?;
        Reel::from_bytes(path.path(), bytes, &self.limits)
    }

    fn extensions(&self) -> &[&str] {
        &["reel"]
    }
}
