//! `digests`: checksums of the product's output, which must not change when only the code's structure does.
//!
//! A list has one case per line: checksum of the `.reel`, checksum of everything it decodes to, and the
//! arguments of `meshreel compile`. Inputs are relative to `testdata/inputs`; those that begin with
//! `corpus/`, to the folder given with `--corpus`; those that begin with `options/`, to the folder of the
//! list.

use anyhow::{Context, bail};
use meshreel::clip::Query;
use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel, Transform};
use meshreel_format::checksum;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(clap::Args)]
pub struct Arguments {
    /// The list.
    #[arg(default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/digests/list.txt"))]
    list: PathBuf,
    /// The compiler; by default the one beside this program.
    #[arg(long)]
    meshreel: Option<PathBuf>,
    /// Folder of third-party inputs; without it their cases are left out.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Only cases whose line contains this text.
    #[arg(long)]
    only: Option<String>,
    /// Number of cases run in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Write the list anew instead of comparing with it.
    #[arg(long)]
    write: bool,
}

struct Case {
    /// Checksums in the list.
    known: String,
    arguments: String,
}

/// Returns `false` if a case differs.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(&arguments.list)
        .with_context(|| format!("reading {}", arguments.list.display()))?;
    let beside = std::env::current_exe()?.with_file_name("meshreel");
    let program = arguments.meshreel.clone().unwrap_or(beside);
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let cases: Vec<Case> = lines
        .map(|line| {
            let (known, arguments) = line.split_once("  ").unwrap_or(("", line));
            Case { known: known.trim().into(), arguments: arguments.trim().into() }
        })
        .collect();
    let found: Mutex<Vec<Option<String>>> = Mutex::new(vec![None; cases.len()]);
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<()> {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(i) else { return Ok(()) };
            let skipped = arguments.only.as_ref().is_some_and(|only| !case.arguments.contains(only))
                || (arguments.corpus.is_none() && case.arguments.contains("corpus/"));
            if skipped {
                continue;
            }
            let sums = case_checksums(&program, &case.arguments, arguments)
                .with_context(|| case.arguments.clone())?;
            if !arguments.write && sums != case.known {
                println!("was {}\nnow {sums}  {}", case.known, case.arguments);
            }
            found.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(sums);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        results.collect::<anyhow::Result<Vec<()>>>()
    })?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut out, mut other, mut done) = (String::new(), 0, 0);
    for (case, sums) in cases.iter().zip(&found) {
        let sums = sums.as_ref().map_or(&case.known, |sums| {
            done += 1;
            other += usize::from(*sums != case.known);
            sums
        });
        out += &format!("{sums}  {}\n", case.arguments);
    }
    println!("{done} of {} cases, {other} of them other than before", cases.len());
    if arguments.write {
        let comments = text.lines().filter(|line| line.starts_with('#'));
        let head: String = comments.map(|line| format!("{line}\n")).collect();
        std::fs::write(&arguments.list, head + &out)?;
        return Ok(true);
    }
    Ok(other == 0)
}

fn case_checksums(program: &Path, line: &str, arguments: &Arguments) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let reel = folder.path().join("out.reel");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/inputs");
    let beside = arguments.list.parent().unwrap_or(Path::new("."));
    let mut command = Command::new(program);
    command.arg("compile").args(["--quiet", "--jobs", "1", "-o"]).arg(&reel);
    for word in line.split_whitespace() {
        let place = match (word.strip_prefix("corpus/"), word.strip_prefix("options/"), &arguments.corpus) {
            (Some(rest), _, Some(corpus)) => corpus.join(rest),
            (_, Some(rest), _) => beside.join(rest),
            _ => inputs.join(word),
        };
        match place.is_file() {
            true => command.arg(place),
            false => command.arg(word),
        };
    }
    let done = command.output().with_context(|| format!("running {}", program.display()))?;
    if !done.status.success() {
        bail!("{}", String::from_utf8_lossy(&done.stderr));
    }
    let bytes = std::fs::read(&reel)?;
    Ok(format!("{:016x} {:016x}", checksum(&bytes), decoded_checksum(&reel)?))
}

/// A running checksum.
#[derive(Default)]
struct Checksum {
    bytes: Vec<u8>,
    so_far: u64,
}

impl Checksum {
    fn add(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.bytes.extend(bytes);
        if self.bytes.len() > 1 << 20 {
            self.fold();
        }
    }

    fn fold(&mut self) -> u64 {
        let own = std::mem::take(&mut self.bytes);
        self.so_far = checksum(&[&self.so_far.to_le_bytes()[..], &own].concat());
        self.so_far
    }

    fn floats(&mut self, all: &[f32]) {
        self.add(all.iter().flat_map(|v| v.to_le_bytes()));
    }

    fn integers(&mut self, all: &[u32]) {
        self.add(all.iter().flat_map(|v| v.to_le_bytes()));
    }

    fn transform(&mut self, t: &Transform) {
        self.floats(&t.rotation);
        self.floats(&t.translation);
        self.floats(&t.scale);
    }
}

/// Returns the checksum of everything that a file decodes to: frames, times between them, LOD levels,
/// attributes, rigs and clips.
fn decoded_checksum(path: &Path) -> anyhow::Result<u64> {
    let reel = Reel::open(path, &Limits::default())?;
    let mut sum = Checksum::default();
    let mut decoders = [FrameDecoder::new(&reel)?, FrameDecoder::new(&reel)?];
    for frame in 0..reel.frame_count() {
        let [first, second] = &mut decoders;
        first.decode(frame)?;
        second.decode((frame + 1).min(reel.frame_count() - 1))?;
        sum.add(reel.time(frame).to_le_bytes());
        for blend in [0.0, 0.375] {
            let view = FrameView::between(first, second, blend, Pace::new(1.0 / 30.0, 1.0))?;
            add_view(&view, &mut sum);
        }
    }
    for mesh in 0..reel.description().meshes.len() {
        for level in 0..=reel.lod_count(mesh)? {
            if let Some(lod) = reel.lod(mesh, level)? {
                sum.integers(&lod.indices);
                sum.integers(&lod.becomes);
                sum.floats(&[lod.error]);
            }
        }
    }
    for of_node in reel.all_part_attributes()? {
        sum.integers(&of_node.nodes);
        for attribute in &of_node.attributes {
            let mut table = vec![[0f32; 4]; attribute.groups()];
            for frame in 0..reel.frame_count() as u32 {
                attribute.write_table(meshreel::time::FramePair::single(frame), &mut table);
                sum.floats(table.as_flattened());
            }
        }
    }
    for rig in reel.rigs()? {
        sum.integers(rig.joints());
        (0..rig.vertex_count()).for_each(|v| sum.floats(&rig.bind_position(v)));
    }
    for clip in reel.clips()? {
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        for sample in 0..clip.samples() {
            cursor.sample(sample, &mut pose)?;
            pose.iter().for_each(|t| sum.transform(t));
            let query = Query::new(clip.duration() * (sample as f64 + 0.3) / clip.samples() as f64);
            cursor.pose(&query, &mut pose[..])?;
            pose.iter().for_each(|t| sum.transform(t));
            for track in 0..clip.scalar_tracks().len() {
                sum.floats(&clip.scalar(track, &query)?);
            }
        }
    }
    Ok(sum.fold())
}

fn add_view(view: &FrameView<'_>, sum: &mut Checksum) {
    for node in 0..view.reel().description().nodes.len() {
        sum.add([u8::from(view.visible(node))]);
        sum.transform(&view.local(node));
        sum.add(view.world(node).concat().into_iter().flat_map(f64::to_le_bytes));
        let Some(mesh) = view.mesh(node) else { continue };
        sum.integers(mesh.indices());
        sum.integers(mesh.indices_by_visibility());
        for range in mesh.visible_ranges(None) {
            sum.integers(&[range.first, range.count]);
        }
        let n = mesh.vertex_count();
        let mut add = |components: usize, read: &dyn Fn(&mut [f32]) -> bool| {
            let mut out = vec![0.0; components * n];
            sum.add([u8::from(read(&mut out))]);
            sum.floats(&out);
        };
        add(3, &|out| mesh.positions_into(out).is_ok());
        add(3, &|out| mesh.normals_into(out).is_ok());
        add(4, &|out| mesh.tangents_into(out).is_ok());
        for set in 0..3 {
            add(2, &|out| mesh.uvs_into(set, out).is_ok());
            add(4, &|out| mesh.colours_into(set, out).is_ok());
        }
        add(3, &|out| mesh.velocities_into(out).is_ok());
    }
}
