//! Opens the skeletons and clips of a file.

use super::layer::LayeredClip;
use super::random_access::LayeredForm;
use super::streamed::{Clip, ClipData, ClipForm};
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
use std::sync::Arc;

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
        let skeletons = self.skeletons()?;
        let mut decompressor = Decompressor::new();
        let mut layers = self.all_layers()?;
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

    /// Reads the tables of layers, and all chunks of pieces.
    fn all_layers(&self) -> Result<UnassignedLayers, Error> {
        let tables = self.layer_tables()?;
        let mut chunks = Vec::new();
        for chunk in self.chunks_of(kind::TIERS) {
            let mut bytes = Vec::new();
            self.reader().read_chunk(chunk as usize, &mut bytes)?;
            chunks.push(Arc::new(bytes));
        }
        let size = |c: &Arc<Vec<u8>>| (c.len() as u32, c.len() as u32);
        Ok(UnassignedLayers { unclaimed: chunks.iter().map(size).collect(), tables, chunks })
    }

    /// Reads all tables of layers.
    pub(crate) fn layer_tables(&self) -> Result<Vec<LayerTable>, Error> {
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

/// The layers of a file that were not assigned to a clip yet.
struct UnassignedLayers {
    tables: Vec<LayerTable>,
    chunks: Vec<Arc<Vec<u8>>>,
    /// For each chunk its size, and the bytes of it that no clip has claimed yet.
    unclaimed: Vec<(u32, u32)>,
}

/// The layers of one clip.
struct ClipLayers<'a> {
    table: LayerTable,
    chunks: &'a [Arc<Vec<u8>>],
    unclaimed: &'a mut [(u32, u32)],
}

impl UnassignedLayers {
    fn take(&mut self, clip: u32) -> Option<ClipLayers<'_>> {
        let i = self.tables.iter().position(|t| t.clip == clip)?;
        Some(ClipLayers {
            table: self.tables.swap_remove(i),
            chunks: &self.chunks,
            unclaimed: &mut self.unclaimed,
        })
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
                    Some(ClipLayers { table, chunks, unclaimed: room }) => {
                        let skeleton = skeleton.skeleton();
                        let layers = LayeredClip::new(&skeleton, table, stored, chunks, room)?;
                        size += layers.upper_bytes();
                        pieces = layers.tier_bytes();
                        ClipForm::Layers(Box::new(layers))
                    }
                }
            }
            ClipCodec::RandomAccess => {
                let base = RandomAccess::open(&skeleton.skeleton(), bytes)?;
                let form = match layers {
                    None => LayeredForm::new(skeleton, base),
                    Some(ClipLayers { table, chunks, unclaimed: room }) => {
                        LayeredForm::with_table(skeleton, base, table, chunks, room)?
                    }
                };
                (size, pieces) = (size + form.upper_bytes(), form.tier_part_bytes());
                ClipForm::RandomAccess(form)
            }
            ClipCodec::Curve if layers.is_some() => return Err(Corrupt("layers of a clip in codec curve")),
            ClipCodec::Curve => ClipForm::Curve(CurveClip::decode(bytes, &skeleton.skeleton())?),
        };
        let samples = match &form {
            ClipForm::Sampled(stored, _) => stored.layout.header.samples,
            ClipForm::Curve(curves) => curves.head.samples,
            ClipForm::Layers(layers) => layers.set.samples() as u32,
            ClipForm::RandomAccess(form) => form.base().layout.header.samples,
        };
        if !extras.tracks.is_empty() && extras.samples != samples {
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
