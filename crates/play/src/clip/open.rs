//! Opens the skeletons and clips of a file.

use super::layer::{LayerSet, LayeredClip, LoadedChunks, Published};
use super::opened::{Clip, ClipData, ClipForm};
use super::random_access::RandomAccessLayers;
use crate::reel::open_file::Reel;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::clip::curve::CurveClip;
use meshreel_codec::clip::layer::{LayerTable, decode as decode_layers};
use meshreel_codec::clip::random_access::RandomAccess;
use meshreel_codec::clip::record::{ClipCodec, SkeletonRecord, decode_clip, decode_skeleton};
use meshreel_codec::clip::scalars;
use meshreel_codec::clip::scalars::ScalarsRecord;
use meshreel_codec::clip::streamed::StreamedClip;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_format::kind;
use std::path::Path;
use std::sync::{Arc, RwLock};

impl Reel {
    /// Reads all skeletons of the file, in order.
    pub fn skeletons(&self) -> Result<Vec<Arc<SkeletonRecord>>, Error> {
        let mut decompressor = Decompressor::new();
        self.chunks_of(kind::SKELETON)
            .map(|chunk| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let skeleton = decode_skeleton(&bytes);
                let at = || format!("skeleton in chunk {chunk}");
                skeleton.map(Arc::new).map_err(|c| error::corrupt(self.path(), c, at()))
            })
            .collect()
    }

    /// Reads all clips of the file, in order. Their segments are decoded when they are played.
    pub fn clips(&self) -> Result<Vec<Clip>, Error> {
        if self.chunks_of(kind::CLIP).next().is_none() {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let mut loaded = LoadedChunks { words: Vec::new(), sizes: Vec::new() };
        for chunk in self.chunks_of(kind::TIERS) {
            self.reader().read_chunk(chunk as usize, &mut bytes)?;
            let mut words = vec![0u64; bytes.len().div_ceil(8)];
            bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(&bytes);
            loaded.sizes.push(bytes.len() as u32);
            loaded.words.push(Some(words));
        }
        let sizes = loaded.sizes.clone();
        self.clips_of(&TierSource::Loaded(Arc::new(loaded)), &sizes)
    }

    /// Reads all clips, whose layers come from a source. `sizes` holds the bytes of each chunk of tiers.
    pub(super) fn clips_of(&self, tiers: &TierSource, sizes: &[u32]) -> Result<Vec<Clip>, Error> {
        let skeletons = self.skeletons()?;
        let mut decompressor = Decompressor::new();
        let mut layers = UnassignedLayers {
            tables: self.layer_tables()?,
            tiers,
            unclaimed: sizes.iter().map(|size| (*size, *size)).collect(),
        };
        let mut records = self.scalar_records(&mut decompressor)?;
        let clips: Vec<Clip> = (0..)
            .zip(self.chunks_of(kind::CLIP))
            .map(|(i, chunk)| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let packed = self.chunks()[chunk as usize].size as usize;
                let extras = records.iter().position(|e| e.clip == i);
                let extras = extras.map(|at| records.swap_remove(at)).unwrap_or_default();
                Clip::open(self.path(), &bytes, packed, &skeletons, layers.take(i), extras)
                    .map_err(|c| error::corrupt(self.path(), c, format!("clip in chunk {chunk}")))
            })
            .collect::<Result<_, _>>()?;
        if let Some(extras) = records.first() {
            return Err(error::corrupt(
                self.path(),
                Corrupt("scalar tracks of a clip that is not there, or has others"),
                format!("clip {}", extras.clip),
            ));
        }
        match layers.tables.is_empty() {
            true => Ok(clips),
            false => Err(error::corrupt(
                self.path(),
                Corrupt("layers of a clip that is not there, or of one twice"),
                "layers of clips",
            )),
        }
    }

    /// Reads the scalar tracks and markers of all clips.
    fn scalar_records(&self, decompressor: &mut Decompressor) -> Result<Vec<ScalarsRecord>, Error> {
        self.chunks_of(kind::SCALARS)
            .map(|chunk| {
                let bytes = self.chunk(chunk, decompressor)?;
                let at = || format!("scalar tracks in chunk {chunk}");
                scalars::decode(&bytes).map_err(|c| error::corrupt(self.path(), c, at()))
            })
            .collect()
    }

    /// Reads all tables of layers.
    fn layer_tables(&self) -> Result<Vec<LayerTable>, Error> {
        let mut decompressor = Decompressor::new();
        self.chunks_of(kind::LAYERS)
            .map(|chunk| {
                let bytes = self.chunk(chunk, &mut decompressor)?;
                let at = || format!("layers in chunk {chunk}");
                decode_layers(&bytes).map_err(|c| error::corrupt(self.path(), c, at()))
            })
            .collect()
    }
}

/// The memory that layers are played from.
pub(super) enum TierSource {
    /// All chunks of the file.
    Loaded(Arc<LoadedChunks>),
    /// The chunks that a database has loaded, which come and go.
    Streamed(Arc<RwLock<Published>>),
}

/// The layers of a file that were not assigned to a clip yet.
struct UnassignedLayers<'a> {
    tables: Vec<LayerTable>,
    tiers: &'a TierSource,
    /// For each chunk its size, and the bytes of it that no clip has claimed yet.
    unclaimed: Vec<(u32, u32)>,
}

/// The layers of one clip.
struct ClipLayers<'a> {
    table: LayerTable,
    tiers: &'a TierSource,
    unclaimed: &'a mut [(u32, u32)],
}

impl UnassignedLayers<'_> {
    fn take(&mut self, clip: u32) -> Option<ClipLayers<'_>> {
        let i = self.tables.iter().position(|t| t.clip == clip)?;
        let table = self.tables.swap_remove(i);
        Some(ClipLayers { table, tiers: self.tiers, unclaimed: &mut self.unclaimed })
    }
}

impl ClipLayers<'_> {
    /// Assembles a clip of codec `sampled`.
    fn layered(self, skeleton: &SkeletonRecord, base: StreamedClip) -> Result<LayeredClip, Corrupt> {
        let (clip, layout) = (self.table.clip as usize, &base.layout);
        let set = LayerSet::new(&skeleton.skeleton(), self.table, layout, base.head_bytes, self.unclaimed)?;
        match self.tiers {
            TierSource::Loaded(chunks) => LayeredClip::whole(set, base, chunks),
            TierSource::Streamed(published) => Ok(LayeredClip::streamed(set, base, published, clip)),
        }
    }

    /// Assembles a clip of codec `random-access`. Its layers cannot come and go: a database refuses it.
    fn random_access(
        self,
        skeleton: &Arc<SkeletonRecord>,
        base: RandomAccess,
    ) -> Result<RandomAccessLayers, Corrupt> {
        match self.tiers {
            TierSource::Loaded(chunks) => {
                RandomAccessLayers::with_table(skeleton, base, self.table, chunks, self.unclaimed)
            }
            TierSource::Streamed(_) => Ok(RandomAccessLayers::new(skeleton, base)),
        }
    }
}

impl Clip {
    /// Opens a clip from the bytes of its chunk, which takes `packed` bytes in the file.
    fn open(
        path: &Path,
        bytes: &[u8],
        packed: usize,
        skeletons: &[Arc<SkeletonRecord>],
        layers: Option<ClipLayers<'_>>,
        extras: ScalarsRecord,
    ) -> Result<Clip, Corrupt> {
        let all = bytes.len();
        let (record, bytes) = decode_clip(bytes)?;
        let Some(skeleton) = skeletons.get(record.skeleton as usize) else {
            return Err(Corrupt("a clip of a skeleton that is not there"));
        };
        let (mut size, mut pieces) = (bytes.len(), 0);
        let form = match record.codec {
            ClipCodec::Sampled => {
                let stored = StreamedClip::open(&skeleton.skeleton(), bytes)?;
                match layers {
                    None if stored.layout.tiers() > 1 => {
                        return Err(Corrupt("a clip whose other tiers are not there"));
                    }
                    None => ClipForm::Sampled(stored, None),
                    Some(ClipLayers { table, .. }) if table.interleaved => {
                        let samples = stored.layout.header.samples;
                        let joints = skeleton.parents.len();
                        if stored.layout.tiers() > 1
                            || table.samples != samples
                            || table.joint_layers.len() != joints
                        {
                            return Err(Corrupt("a table of layers for another clip, or one with tiers"));
                        }
                        ClipForm::Sampled(stored, Some(Box::new(table)))
                    }
                    Some(layers) => {
                        let layers = layers.layered(skeleton, stored)?;
                        size += layers.upper_bytes();
                        pieces = layers.tier_bytes();
                        ClipForm::Layers(Box::new(layers))
                    }
                }
            }
            ClipCodec::RandomAccess => {
                let base = RandomAccess::open(&skeleton.skeleton(), bytes)?;
                let form = match layers {
                    None => RandomAccessLayers::new(skeleton, base),
                    Some(layers) => layers.random_access(skeleton, base)?,
                };
                (size, pieces) = (size + form.upper_bytes(), form.tier_part_bytes());
                ClipForm::RandomAccess(form)
            }
            ClipCodec::Curve if layers.is_some() => return Err(Corrupt("layers of a clip in codec curve")),
            ClipCodec::Curve => ClipForm::Curve(CurveClip::decode(bytes, &skeleton.skeleton())?),
        };
        if !extras.tracks.is_empty() && extras.samples as usize != form.timing().0 {
            return Err(Corrupt("scalar tracks of another number of samples"));
        }
        Ok(Clip {
            shared: Arc::new(ClipData {
                path: path.into(),
                record,
                skeleton: skeleton.clone(),
                form,
                bytes: size,
                // Uncompressed bytes have a small frame around them, which does not count as the clip's.
                file_bytes: (packed + bytes.len()).saturating_sub(all).min(bytes.len()) + pieces,
                scalars: extras,
            }),
            tiers: Arc::new([]),
        })
    }
}
