//! Prints the result of `meshreel compile`: the object of `--json`, tables, and the output of `--explain`.

use super::{clip, lod, rigs};
use crate::output::{Class, Failure, advice_text, display_path, length_text, one_line, table};
use crate::units::{self, ratio};
use meshreel_commands::compile::VerificationSummary;
use meshreel_compile::advice::{self, Advice};
use meshreel_compile::{BetweenFrames, HiddenTriangles, MeshReport, PassReport, Report};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// Largest number of rows of the table of meshes without `--verbose`.
const MAX_SHOWN_MESHES: usize = 12;

/// A file that was compiled.
pub struct CompiledFile {
    /// Path of the file.
    pub target: PathBuf,
    /// The compiler's report.
    pub report: Report,
    /// The verification; `None` with `--no-verify` and on a dry run.
    pub verified: Option<VerificationSummary>,
    /// Wall time in seconds, reading included.
    pub seconds: f64,
    /// Total size of the inputs in bytes.
    pub source_bytes: u64,
    /// Peak anonymous memory, if the system reports it.
    pub peak_anon_bytes: Option<u64>,
    /// `true` if `--explain` was given.
    pub explain: bool,
    /// `true` if nothing was written.
    pub dry_run: bool,
}

/// The output of `--json`: the compiler's report, and facts about the source and this run.
#[derive(Serialize)]
struct CompileOutput<'a> {
    output: String,
    written: bool,
    source_bytes: u64,
    ratio: f64,
    source_ratio: f64,
    seconds: f64,
    peak_anon_bytes: Option<u64>,
    verify: Option<&'a VerificationSummary>,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<Vec<Advice>>,
}

/// Removes the keys that only `--explain` prints: passes, the tree, and attempts.
fn drop_explanation(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        return;
    };
    object.remove("passes");
    object.remove("tree");
    for list in ["meshes", "clips"] {
        let items = object.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            item.as_object_mut().map(|item| item.remove("tried"));
        }
    }
}

impl CompiledFile {
    /// Returns the size without the source map, in bytes.
    pub fn counted_bytes(&self) -> u64 {
        self.report.file_bytes.saturating_sub(self.report.source_map_bytes)
    }

    /// Returns the object of PROMISE.md §5.
    pub fn json(&self) -> Result<Value, Failure> {
        let report = &self.report;
        let value = serde_json::to_value(CompileOutput {
            output: self.target.display().to_string(),
            written: !self.dry_run,
            source_bytes: self.source_bytes,
            ratio: ratio(report.raw_bytes, self.counted_bytes()),
            source_ratio: ratio(self.source_bytes, self.counted_bytes()),
            seconds: self.seconds,
            peak_anon_bytes: self.peak_anon_bytes,
            verify: self.verified.as_ref(),
            report,
            advice: self.explain.then(|| advice::from_report(report)),
        });
        let mut value = value.map_err(|e| Failure::new(Class::Defect, e.to_string(), None))?;
        if !self.explain {
            drop_explanation(&mut value);
        }
        Ok(value)
    }

    /// Returns the printed text; only the largest meshes and the first clips, unless `verbose`.
    pub fn text(&self, verbose: bool) -> String {
        let report = &self.report;
        let mut out = if self.explain { self.explanation() } else { String::new() };
        out.push_str(&self.summary());
        out.push_str(&self.verification_line());
        if let Some(between) = report.between.as_ref().filter(|between| between.added_frames > 0) {
            out.push_str(&added_frames_remark(between, report.frames));
        }
        let most = if verbose { usize::MAX } else { MAX_SHOWN_MESHES };
        // The largest first: they have the most to save.
        let mut meshes: Vec<_> = report.meshes.iter().collect();
        meshes.sort_by_key(|mesh| std::cmp::Reverse(mesh.bytes));
        out.push_str(&mesh_table(&meshes, most));
        out.push_str(&normals_remark(&report.meshes));
        let culled = meshes.iter().filter_map(|mesh| {
            let HiddenTriangles { first_frame, last_frame, all_frames } = mesh.hidden?.triangles;
            Some((&mesh.path[..], mesh.triangles, [first_frame, last_frame, all_frames]))
        });
        out.push_str(&lod::hidden_table(culled.take(most)));
        let detailed = meshes.iter().filter_map(|mesh| Some((&mesh.path[..], mesh.lod.as_ref()?)));
        let detailed = detailed.map(|(path, lod)| (path, lod::lod_infos(lod)));
        out.push_str(&lod::table(detailed.take(most)));
        out.push_str(&rigs::compiled_table(&report.rigs));
        out.push_str(&clip::compiled_table(&report.clips, most));
        out
    }

    /// Returns the outcome of the verification in one line, with its corrections.
    fn verification_line(&self) -> String {
        match &self.verified {
            Some(verified) => verified_line(verified),
            None if self.dry_run => String::new(),
            None => "not verified (--no-verify)\n".into(),
        }
    }

    /// Returns the text of `--explain`: passes, the tree, and each choice with its reason.
    fn explanation(&self) -> String {
        let report = &self.report;
        let width = report.passes.iter().map(|p| p.pass.len()).max().unwrap_or(0);
        let mut out = String::from("passes\n");
        for PassReport { pass, what } in &report.passes {
            out.push_str(&format!("  {pass:<width$}  {}\n", one_line(what)));
        }
        out.push_str("tree\n");
        for line in report.tree.lines() {
            out.push_str(&format!("  {line}\n"));
        }
        for mesh in &report.meshes {
            if let Some([width, height]) = mesh.grid {
                out.push_str(&format!(
                    "{}: implicit grid, {width} × {height}: its triangles are not stored\n",
                    one_line(&mesh.path)
                ));
            }
        }
        for mesh in &report.meshes {
            if let Some([first, last]) = mesh.moves {
                out.push_str(&format!(
                    "{}: moves from frame {first} to {last} and stands still before and after\n",
                    one_line(&mesh.path)
                ));
            }
        }
        out.push_str(&methods_table(&report.meshes));
        out.push_str(&advice_text(&advice::from_report(report)));
        if !report.clips.is_empty() {
            out.push_str(&clip::tried_table(&report.clips));
        }
        out.push('\n');
        out
    }

    /// Returns the file in one line: its size, and a comparison.
    fn summary(&self) -> String {
        let report = &self.report;
        let verb = if self.dry_run { "would be" } else { "is" };
        let map = match report.source_map_bytes {
            0 => String::new(),
            bytes => format!(" + {} source map", units::bytes(bytes)),
        };
        let length = length_text(report.frames, report.clips.iter().map(|clip| clip.samples));
        let of = |bytes| units::short(ratio(bytes, self.counted_bytes()));
        format!(
            "{} {verb} {}{map}: {length}, raw {}, ratio {}:1 ({}:1 of the source's {}), {:.2} s\n",
            display_path(&self.target),
            units::bytes(self.counted_bytes()),
            units::bytes(report.raw_bytes),
            of(report.raw_bytes),
            of(self.source_bytes),
            units::bytes(self.source_bytes),
            self.seconds,
        )
    }
}

/// Returns the outcome of a verification in one line, with its corrections.
pub fn verified_line(verified: &VerificationSummary) -> String {
    let VerificationSummary { seconds, worst, cured, .. } = verified;
    let mut out = format!("verified in {seconds:.2} s: at most {} of a tolerance off", units::short(*worst));
    if let Some(first) = cured.first() {
        let first = one_line(&first.to_string());
        out.push_str(&format!("; compiled twice, since the first file broke its promise: {first}"));
        if cured.len() > 1 {
            out.push_str(&format!(" (and {} more)", cured.len() - 1));
        }
    }
    out.push('\n');
    out
}

/// Returns a table of the first `most` meshes.
fn mesh_table(meshes: &[&MeshReport], most: usize) -> String {
    let row = |mesh: &&MeshReport| {
        vec![
            one_line(&mesh.path),
            mesh.method.clone(),
            units::count(mesh.vertices as u64),
            units::short(mesh.tolerance),
            units::short(mesh.max_error),
            units::bytes(mesh.bytes),
            format!("{:.2}", mesh.bits_per_vertex_frame),
        ]
    };
    let mut rows: Vec<Vec<String>> = meshes.iter().take(most).map(row).collect();
    if meshes.len() > most {
        rows.push(vec![format!("… and {} more; --verbose shows all", meshes.len() - most)]);
    }
    match rows.is_empty() {
        true => String::new(),
        false => table(
            &["mesh", "<method", "vertices", "tolerance", "max error", "bytes", "bits/point/frame"],
            &rows,
        ),
    }
}

/// Returns the remark on frames that were added to those of the source.
fn added_frames_remark(between: &BetweenFrames, frames: usize) -> String {
    let BetweenFrames { added_frames: added, source_deviation: before, deviation: after, .. } = between;
    let own = frames.saturating_sub(*added);
    format!(
        "{added} frames added to the source's {own}: without them players would be up to {} tolerances off between frames, now up to {} (--between off leaves them out)\n",
        units::short(*before),
        units::short(*after),
    )
}

/// Returns a remark on meshes whose position accuracy is determined by their normals, not by the tolerance.
fn normals_remark(meshes: &[MeshReport]) -> String {
    let decided = || meshes.iter().filter_map(|m| Some((m, m.normals_decide?)));
    let Some((first, how)) = decided().max_by(|a, b| a.1.finer.total_cmp(&b.1.finer)) else {
        return String::new();
    };
    let which = match decided().count() {
        1 => one_line(&first.path),
        count => format!("{count} meshes up to"),
    };
    let tried = || decided().filter_map(|(mesh, n)| Some((mesh.bytes, n.estimated_fraction?)));
    let bytes: u64 = tried().map(|t| t.0).sum();
    let then: f64 = tried().map(|(bytes, part)| part * bytes as f64).sum();
    let larger = match bytes {
        0 => "lets them be coarser".into(),
        _ => format!("makes about {} of these {}", units::bytes(then.round() as u64), units::bytes(bytes)),
    };
    format!(
        "normals within {}° keep positions of {which} {} × finer than the tolerance asks, as takes the fewest bytes; --normal-tolerance {} {larger}\n",
        how.degrees,
        units::short(how.finer),
        how.larger,
    )
}

/// Returns a table of the methods that were tried, for `--explain`.
fn methods_table(meshes: &[MeshReport]) -> String {
    let mut rows = Vec::new();
    for mesh in meshes {
        let bytes_of_chosen = mesh.tried.iter().find(|t| t.chosen).and_then(|t| t.bytes);
        for t in &mesh.tried {
            let choice = match (t.chosen, t.bytes) {
                (true, _) => "chosen",
                // Decoding time counts too.
                (_, Some(bytes)) if bytes_of_chosen.is_some_and(|chosen| bytes < chosen) => "slower",
                (_, Some(_)) => "larger",
                (_, None) => "cannot hold the tolerance",
            };
            rows.push(vec![
                one_line(&mesh.path),
                t.method.into(),
                t.from.clone(),
                units::count(t.parts as u64),
                units::count(t.bones as u64),
                units::count(t.points_with_residual as u64),
                t.bytes.map_or("–".into(), units::bytes),
                format!("{:.2} s", t.seconds),
                choice.into(),
            ]);
        }
    }
    let head =
        ["mesh", "<method", "<from", "parts", "bones", "points with residual", "about", "time", "<choice"];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}
