//! Compares the frames that a player returns with a plain decode, by digests of everything that a frame
//! shows.

use meshreel::raw::format::checksum;
use meshreel::raw::record::{Coding, Semantic};
use meshreel::view::QuantizedValues;
use meshreel::{DecodedFrame, FrameDecoder, Limits, MeshView, Reel, ShownFrames, Transform};
use std::sync::Arc;

/// Accumulates the digest of a frame.
#[derive(Default)]
pub struct Digest(Vec<u8>);

impl Digest {
    fn mesh(&mut self, mesh: MeshView<'_>) {
        self.0.extend((mesh.vertex_count() as u32).to_le_bytes());
        self.0.extend(mesh.indices().iter().flat_map(|i| i.to_le_bytes()));
        for range in mesh.materials() {
            self.0.extend(range.first.to_le_bytes());
            self.0.extend(range.count.to_le_bytes());
        }
        for (stream, record) in mesh.record().streams.iter().enumerate() {
            if record.coding.has_fixed_point() {
                let mut out = vec![0.0; record.semantic.components() * mesh.vertex_count()];
                let written = match record.semantic {
                    Semantic::Uv => mesh.uvs_into(record.set, &mut out),
                    Semantic::Colour => mesh.colours_into(record.set, &mut out),
                    _ => mesh.positions_into(&mut out),
                };
                written.unwrap();
                self.0.extend(out.iter().flat_map(|f| f.to_le_bytes()));
                continue;
            }
            if record.coding == Coding::Predicted {
                let mut out = vec![0.0; 7 * mesh.vertex_count()];
                let (normals, tangents) = out.split_at_mut(3 * mesh.vertex_count());
                mesh.normals_into(normals).unwrap();
                if mesh.has_tangents() {
                    mesh.tangents_into(tangents).unwrap();
                }
                self.0.extend(out.iter().flat_map(|f| f.to_le_bytes()));
                continue;
            }
            match mesh.quantized(stream) {
                QuantizedValues::U8(levels) => self.0.extend(levels),
                QuantizedValues::U16(levels) => self.0.extend(levels.iter().flat_map(|l| l.to_le_bytes())),
                QuantizedValues::U32(levels) => self.0.extend(levels.iter().flat_map(|l| l.to_le_bytes())),
                _ => unreachable!("values have 1, 2 or 4 bytes"),
            }
        }
    }
    fn node(&mut self, visible: bool, transform: Transform) {
        self.0.push(visible.into());
        let Transform { rotation, translation, scale } = transform;
        let numbers = rotation.iter().chain(&translation).chain(&scale);
        self.0.extend(numbers.flat_map(|n| n.to_bits().to_le_bytes()));
    }
    fn end(&mut self) -> u64 {
        let sum = checksum(&self.0);
        self.0.clear();
        sum
    }
    pub fn of_frame(&mut self, reel: &Reel, still: DecodedFrame<'_>) -> u64 {
        for node in 0..reel.description().nodes.len() {
            self.node(still.visible(node), still.transform(node));
        }
        for mesh in 0..reel.description().meshes.len() {
            self.mesh(still.mesh(mesh));
        }
        self.end()
    }
    fn of_decoder(&mut self, decoder: &FrameDecoder) -> u64 {
        for node in 0..decoder.reel().description().nodes.len() {
            self.node(decoder.visible(node), decoder.transform(node));
        }
        for mesh in 0..decoder.reel().description().meshes.len() {
            self.mesh(decoder.mesh(mesh));
        }
        self.end()
    }
}

/// Returns the digest of each frame of a file, decoded plainly, one after the other.
pub fn oracle(bytes: &Arc<[u8]>) -> Vec<u64> {
    let reel = Reel::from_source(Arc::new(bytes.clone()), &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let mut digest = Digest::default();
    (0..reel.frame_count())
        .map(|frame| {
            decoder.decode(frame).unwrap();
            digest.of_decoder(&decoder)
        })
        .collect()
}

/// Checks that both frames equal those of a plain decode.
pub fn assert_same(shown: &ShownFrames, expected: &[u64], digest: &mut Digest) {
    let pair = shown.pair();
    for (frame, still) in [(pair.first, shown.first()), (pair.second, shown.second())] {
        let found = digest.of_frame(shown.reel(), still);
        assert_eq!(found, expected[frame as usize], "frame {frame}");
    }
}
