//! Measures the decoding speed of one core: `figures [--repeat N] [--only positions|normals] FILE…` prints
//! megabytes of f32 positions per second, for positions alone and with normals (and tangents), and a
//! checksum. The fastest decode of each frame counts. `tests/portable.sh --figures` runs it as WebAssembly
//! and natively, and counts its instructions on ARM.

use meshreel::raw::format::checksum;
use meshreel::{FrameDecoder, Limits, Reel};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut repeat, mut only) = (20, None);
    while let Some(option) = arguments.first().filter(|a| a.starts_with("--")).cloned() {
        let value = arguments.get(1).ok_or("a value is missing")?.clone();
        match &*option {
            "--repeat" => repeat = value.parse()?,
            _ => only = Some(value == "normals"),
        }
        arguments.drain(..2);
    }
    for name in &arguments {
        let reel = Reel::from_source(Arc::new(std::fs::read(name)?), &Limits::default())?;
        let mut line = name.clone();
        for normals in [false, true].into_iter().filter(|n| only.is_none_or(|only| only == *n)) {
            let measured = measure(&reel, normals, repeat)?;
            if let Some((speed, sum)) = measured {
                line += &format!(" {} {speed:.0} {sum:016x}", if normals { "normals" } else { "positions" });
            }
        }
        println!("{line}");
    }
    Ok(())
}

/// Returns megabytes of positions per second, and a checksum of the decoded values; `None` without normals.
fn measure(reel: &Reel, normals: bool, repeat: usize) -> Result<Option<(f64, u64)>, Box<dyn Error>> {
    let mut decoder = FrameDecoder::new(reel)?;
    let meshes = reel.description().meshes.len();
    let most = reel.description().meshes.iter().map(|m| m.vertices as usize).max().unwrap_or(0);
    let (mut positions, mut out) = (vec![0f32; 3 * most], vec![0f32; 4 * most]);
    let mut fastest = vec![f64::INFINITY; reel.frame_count()];
    let (mut bytes, mut any, mut sum) = (0, !normals, 0u64);
    for turn in 0..repeat.max(1) {
        for (frame, fastest) in fastest.iter_mut().enumerate() {
            let start = Instant::now();
            decoder.decode(frame)?;
            let mut seconds = start.elapsed().as_secs_f64();
            for mesh in 0..meshes {
                let view = decoder.mesh(mesh);
                let n = view.vertex_count();
                let start = Instant::now();
                view.positions_into(&mut positions[..3 * n])?;
                seconds += start.elapsed().as_secs_f64();
                let mut add = |numbers: &[f32]| {
                    if turn == 0 {
                        let all: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
                        sum = sum.rotate_left(7) ^ checksum(&all);
                    }
                };
                add(&positions[..3 * n]);
                bytes += if turn == 0 { 12 * n } else { 0 };
                if normals {
                    let start = Instant::now();
                    let there = view.normals_into(&mut out[..3 * n]).is_ok();
                    seconds += start.elapsed().as_secs_f64();
                    any |= there;
                    add(if there { &out[..3 * n] } else { &[] });
                    let start = Instant::now();
                    let there = view.has_tangents() && view.tangents_into(&mut out[..4 * n]).is_ok();
                    seconds += start.elapsed().as_secs_f64();
                    add(if there { &out[..4 * n] } else { &[] });
                }
            }
            *fastest = fastest.min(seconds);
        }
    }
    Ok(any.then(|| (bytes as f64 * 1e-6 / fastest.iter().sum::<f64>(), sum)))
}
