//! Units of a mesh whose faces change: any bytes decode or are refused, within what the description allows.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::values::changing::{ChangingBuffers, ChangingReader, StreamPrediction, TriangleBuffers};

const VERTICES: u32 = 300;
const INDICES: u32 = 900;

fuzz_target!(|data: (u8, &[u8])| {
    let (kind, bytes) = data;
    let materials = usize::from(kind & 3);
    let Ok(mut reader) = ChangingReader::new(bytes) else {
        return;
    };
    let mut work = ChangingBuffers::default();
    work.reserve(VERTICES as usize, INDICES as usize);
    // The frame that the next one may have its triangles from: indices, points of vertices, positions.
    let mut before: Option<(Vec<u32>, Vec<u32>, u32, Vec<u16>)> = None;
    for _ in 0..4 {
        let head = reader.head();
        let fits = head.vertices <= VERTICES && head.points <= head.vertices && head.triangles <= INDICES / 3;
        if head.kind == 0 || !fits {
            return;
        }
        let mut ranges = vec![[0; 2]; materials];
        let (mut indices, mut point, points, frames);
        match &before {
            Some((i, p, n, positions)) if head.kind > 1 => {
                (indices, point, points, frames) = (i.clone(), p.clone(), *n, vec![&positions[..]]);
            }
            _ if head.kind > 1 => return,
            _ => {
                indices = vec![0; 3 * head.triangles as usize];
                let split = head.points != head.vertices;
                point = vec![0; if split { head.vertices as usize } else { 0 }];
                (points, frames) = (head.points, Vec::new());
            }
        }
        let vertices = match (&before, head.kind) {
            (Some(before), 2..) => before.3.len() / 3,
            _ => head.vertices as usize,
        };
        let mut triangles = TriangleBuffers { ranges: &mut ranges, indices: &mut indices, point: &mut point };
        if head.kind == 1 {
            if reader.triangles(head, &mut work, &mut triangles).is_err() {
                return;
            }
        } else {
            work.reuse_triangles(&triangles, vertices, points as usize);
        }
        assert!(indices.iter().all(|&v| (v as usize) < vertices));
        let mut positions = vec![0u16; 3 * vertices];
        let done = reader.stream(StreamPrediction::Positions, 3, &frames, &point, &mut work, &mut positions);
        if done.is_err() {
            return;
        }
        work.predict_normals(&indices, &positions, 9);
        let mut normals = vec![0u16; 2 * vertices];
        let _ = reader.stream(StreamPrediction::Normals, 2, &[], &point, &mut work, &mut normals);
        let mut colours = vec![0u8; 4 * vertices];
        let _ = reader.stream(StreamPrediction::Others, 4, &[], &point, &mut work, &mut colours);
        before = Some((indices, point, points, positions));
    }
    let _ = reader.finish();
});
