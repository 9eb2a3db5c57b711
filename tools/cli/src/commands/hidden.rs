//! `meshreel plot --hidden`: draws the visible triangles of a file compiled with --cull-hidden, and the
//! hidden ones.

use super::lod::{TILE, file_name};
use crate::output::{Failure, Output, display_path};
use crate::picture::frames::transform_point;
use crate::picture::grid::Grid;
use crate::picture::image::to_linear;
use crate::picture::render::Surface;
use crate::picture::sheet::clay;
use crate::units;
use meshreel::view::IndexRange;
use meshreel::{FrameDecoder, Reel};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The output of `--json`.
#[derive(Serialize)]
struct HiddenPlot {
    output: String,
    frames: Vec<TriangleCounts>,
}

/// Triangle counts of a frame.
#[derive(Serialize)]
struct TriangleCounts {
    frame: usize,
    drawn: usize,
    hidden: usize,
}

/// Draws the first frame, one in between, and the last: the visible triangles above, the hidden ones in red
/// below.
pub fn draw(reel: &Reel, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let mut any = false;
    for mesh in 0..reel.description().meshes.len() {
        any |= reel.hidden_triangles(mesh)?.is_some();
    }
    if !any {
        return Err(Failure::usage(
            "nothing is left out of the file; 'meshreel compile --cull-hidden' looks for what can be",
        ));
    }
    let last = reel.frame_count() - 1;
    let frames = [0, last / 2, last];
    let mut decoder = FrameDecoder::new(reel)?;
    let mut grid = Grid { rows: vec![Vec::new(), Vec::new()], heads: Vec::new(), size: TILE };
    let mut counts = Vec::new();
    for frame in frames {
        decoder.decode(frame)?;
        let [shown, hidden] = surfaces(reel, &decoder, frame)?;
        let count = |all: &[Surface]| all.iter().map(|s| s.triangles.len()).sum::<usize>();
        let (drawn, left) = (count(&shown), count(&hidden));
        grid.heads.push([
            format!("frame {frame}, {:.2} s", reel.time(frame)),
            format!("{} triangles drawn, {} left out", units::count(drawn as u64), units::count(left as u64)),
        ]);
        grid.rows[0].push(shown);
        grid.rows[1].push(hidden);
        counts.push(TriangleCounts { frame, drawn, hidden: left });
    }
    let what = "above what is drawn, below what is left out because nobody can see it";
    grid.draw(&file_name(reel), what).write_png(target)?;
    let drawn = HiddenPlot { output: target.display().to_string(), frames: counts };
    output.result(&drawn, true, || format!("{}: {what}", display_path(target)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the visible and the hidden surfaces of all objects.
fn surfaces(reel: &Reel, decoder: &FrameDecoder, frame: usize) -> Result<[Vec<Surface>; 2], Failure> {
    let mut out = [Vec::new(), Vec::new()];
    let mut positions = Vec::new();
    for (node, record) in reel.description().nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else {
            continue;
        };
        let view = decoder.mesh(mesh as usize);
        positions.resize(3 * view.vertex_count(), 0.0f32);
        view.positions_into(&mut positions)?;
        let world = decoder.world(node);
        let ranges: Vec<IndexRange> = view.visible_ranges([frame as u32; 2], None).collect();
        let inside = |i: u32| ranges.iter().any(|r| (r.first..r.first + r.count).contains(&i));
        let all = (0u32..).zip(view.indices_by_visibility().as_chunks::<3>().0);
        let (shown, hidden): (Vec<_>, Vec<_>) = all.partition(|(t, _)| inside(3 * t));
        for (out, (triangles, colour)) in
            (out.iter_mut()).zip([(shown, clay()), (hidden, to_linear([214, 60, 48]))])
        {
            out.push(Surface {
                positions: positions.chunks_exact(3).map(|p| transform_point(&world, p)).collect(),
                triangles: triangles.iter().map(|t| *t.1).collect(),
                colours: vec![colour],
            });
        }
    }
    Ok(out)
}
