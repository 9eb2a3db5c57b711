//! Tests of cancelled compiles: they end between two units of work, and leave no file.

use meshreel_compile::{Cancellation, Error, Phase, Progress, Silent, compile};
use meshreel_options::{Options, Preset};
use meshreel_scene::{
    Channel, Error as SceneError, Identity, Mesh, Node, NodeKind, Scene, Source, TimeSampling,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const SIDE: usize = 12;
const FRAMES: usize = 40;
/// Threads of each compile: as many frames may be in progress when it is cancelled.
const JOBS: usize = 2;

/// A sheet under a wave, which counts the frames that are read after the cancellation.
struct Sheet {
    cancellation: Cancellation,
    unwanted: Arc<AtomicUsize>,
}

impl Source<[f32; 3]> for Sheet {
    fn len(&self) -> usize {
        FRAMES
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), SceneError> {
        if self.cancellation.is_cancelled() {
            self.unwanted.fetch_add(1, SeqCst);
        }
        let at = |p: usize| {
            let (x, y) = ((p % (SIDE + 1)) as f32, (p / (SIDE + 1)) as f32);
            [x, y, (x * 0.9 + i as f32 * 0.3).sin() + 0.2 * y * (i as f32 * 0.17).cos()]
        };
        out.clear();
        out.extend((0..(SIDE + 1) * (SIDE + 1)).map(at));
        Ok(())
    }
}

fn scene(cancellation: &Cancellation, unwanted: &Arc<AtomicUsize>) -> Scene {
    let rate = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    let sheet = Sheet { cancellation: cancellation.clone(), unwanted: unwanted.clone() };
    let corner = |x: usize, y: usize| (y * (SIDE + 1) + x) as i32;
    let faces = (0..SIDE * SIDE).map(|f| (f % SIDE, f / SIDE));
    let indices =
        faces.flat_map(|(x, y)| [corner(x, y), corner(x, y + 1), corner(x + 1, y + 1), corner(x + 1, y)]);
    let mut scene = Scene::default();
    scene.nodes.push(Node { mesh: Some(0), ..Node::new("/sheet", NodeKind::PolyMesh) });
    scene.meshes.push(Mesh::new(
        "/sheet",
        Channel::new(Arc::new(rate), Arc::new(sheet)),
        Channel::constant(vec![4; SIDE * SIDE]),
        Channel::constant(indices.collect()),
    ));
    scene
}

/// The moment at which a compile is cancelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CancelAt {
    /// When this phase first reports this much progress.
    Reported(Phase, u64),
    /// When a trial is reported.
    Tried,
    /// While the finished file is inspected.
    Inspected,
}

/// Cancels once, at the given moment.
struct Canceller {
    moment: Option<CancelAt>,
    cancellation: Cancellation,
}

impl Canceller {
    fn is_at(&self, at: CancelAt) {
        if self.moment == Some(at) {
            self.cancellation.cancel();
        }
    }
}

impl Progress for Canceller {
    fn update(&self, phase: Phase, done: u64, _: u64) {
        assert!(
            phase == Phase::Search || !self.cancellation.is_cancelled(),
            "{phase:?} {done} after the end"
        );
        self.is_at(CancelAt::Reported(phase, done));
    }
    fn trying(&self, _: &str) {
        self.is_at(CancelAt::Tried);
    }
    fn cancellation(&self) -> Cancellation {
        self.cancellation.clone()
    }
}

/// Compiles the sheet into `target`; returns the result, and the number of frames that were read after the
/// cancellation.
fn compiled(target: &Path, preset: Preset, at: Option<CancelAt>) -> (Result<(), Error>, usize) {
    let progress = Canceller { moment: at, cancellation: Cancellation::new() };
    let unwanted = Arc::default();
    let scene = scene(&progress.cancellation, &unwanted);
    let options = Options { preset, jobs: JOBS, ..Options::default() };
    let inspect = |path: &Path| {
        assert!(path.exists());
        progress.is_at(CancelAt::Inspected);
        match progress.cancellation.is_cancelled() {
            true => Err("it is not wanted".into()),
            false => Ok(()),
        }
    };
    let done = compile(scene.clone(), Vec::new(), target, &options, &inspect, &progress);
    (done.map(drop), unwanted.load(SeqCst))
}

#[test]
fn it_ends_anywhere_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("sheet.reel");
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        for old in [false, true] {
            let mut places = vec![
                CancelAt::Reported(Phase::Analyse, 1),
                CancelAt::Reported(Phase::Encode, 1),
                CancelAt::Reported(Phase::Inspect, 0),
                CancelAt::Inspected,
            ];
            if preset != Preset::Classic {
                places.push(CancelAt::Tried);
            }
            for at in places {
                if old {
                    std::fs::write(&target, "old").unwrap();
                }
                let (done, unwanted) = compiled(&target, preset, Some(at));
                assert!(matches!(done, Err(Error::Cancelled)), "{preset:?} {at:?}: {done:?}");
                assert!(unwanted <= JOBS, "{preset:?} {at:?}: {unwanted} frames");
                let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
                assert_eq!(left.len(), usize::from(old), "{preset:?} {at:?}: {left:?}");
                assert!(!old || std::fs::read(&target).unwrap() == b"old", "{preset:?} {at:?}");
            }
        }
        std::fs::remove_file(&target).unwrap();
    }
}

#[test]
fn it_does_not_begin() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("sheet.reel");
    let progress = Canceller { moment: None, cancellation: Cancellation::new() };
    progress.cancellation.cancel();
    let unwanted = Arc::default();
    let scene = scene(&progress.cancellation, &unwanted);
    let done = compile(scene.clone(), Vec::new(), &target, &Options::default(), &|_| Ok(()), &progress);
    assert!(matches!(done, Err(Error::Cancelled)));
    assert_eq!((unwanted.load(SeqCst), target.exists()), (0, false));
}

#[test]
fn that_it_could_end_changes_no_byte() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        compiled(&one, preset, None).0.unwrap();
        let scene = scene(&Cancellation::never(), &Arc::default());
        let options = Options { preset, jobs: JOBS, ..Options::default() };
        compile(scene.clone(), Vec::new(), &other, &options, &|_| Ok(()), &Silent).unwrap();
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&other).unwrap(), "{preset:?}");
    }
}
