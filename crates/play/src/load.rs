//! Opening a file for playing, on a thread that may wait and allocate: header, tables, description, static
//! data, and the order of its units on the disk.

use crate::io::{Positioned, Positioning, Source, Waiting};
use crate::jobs::Crew;
use crate::open::{Limits, Reel};
use crate::sharing::Library;
use crate::statics::Statics;
use crate::trace::span;
use crate::{Error, heap::Heap};
use meshreel_format::{FileSource, Reader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Most units that a frame may wait for: far beyond what any writer makes (64), and what a tick can walk.
const LONGEST_WAIT: usize = 256;

/// A file that is ready to be played.
pub(crate) struct Loaded {
    pub reel: Reel,
    pub source: Arc<dyn Source>,
    pub statics: Arc<Statics>,
    /// Units in the order of their bytes.
    pub order: Vec<u32>,
    /// Per unit its place in `order`.
    pub place: Vec<u32>,
    /// Words of the largest scratch.
    pub scratch_words: usize,
    /// Frames that an instance needs at once, and bytes of the heap that one takes.
    frames_at_once: u64,
    frame_bytes: u64,
    /// Bytes of the heap that its largest unit takes.
    read_bytes: u64,
}

impl Loaded {
    fn new(reel: Reel, source: Arc<dyn Source>, library: &Library) -> Result<Loaded, Error> {
        let wait = reel.order().longest_wait();
        if wait > LONGEST_WAIT {
            let what = "frames that one frame waits for";
            return Err(Error::limit(reel.path(), what, wait as u64, LONGEST_WAIT as u64));
        }
        let statics = Arc::new(library.share(&Statics::load(&reel)?));
        reel.set_statics(&statics);
        let units = reel.unit_count();
        let mut order: Vec<u32> = (0..units as u32).collect();
        order.sort_by_key(|&u| reel.unit_chunk(u as usize).offset);
        let mut place = vec![0; units];
        for (i, &unit) in order.iter().enumerate() {
            place[unit as usize] = i as u32;
        }
        let scratch = (0..units).map(|u| reel.scratch_words(u)).max();
        let largest = (0..units).map(|u| reel.unit_size(u)).max();
        let frames = |u| reel.unit_needs(u).len() + reel.unit_frames(u).len();
        let most = (0..units).map(frames).max().unwrap_or(0) as u64;
        Ok(Loaded {
            source,
            statics,
            order,
            place,
            scratch_words: scratch.unwrap_or(0),
            // What is shown, what is to be shown, and all that one unit needs.
            frames_at_once: most + 4,
            frame_bytes: Heap::cost(reel.frame_words()),
            read_bytes: Heap::cost(largest.unwrap_or(0).div_ceil(8) + 1),
            reel,
        })
    }

    /// Bytes of the heap, beside scratch, without which so many instances cannot be played: each may be
    /// elsewhere in the file, but more than all of it is never needed. Of reads the one that a unit comes in,
    /// and the next. A block counts as `least_block` bytes at least.
    pub fn least_bytes(&self, instances: u32, least_block: u64) -> u64 {
        let instances = u64::from(instances);
        let frames = (instances * self.frames_at_once).min(self.reel.frame_count() as u64);
        let reads = (2 * instances).min(self.reel.unit_count() as u64);
        frames * self.frame_bytes.max(least_block) + reads * self.read_bytes.max(least_block)
    }

    /// An error that names a unit.
    pub fn damaged(&self, unit: usize, what: &str) -> Error {
        let frames = self.reel.unit_frames(unit);
        let at = match frames[..] {
            [frame] => format!("frame {frame}"),
            _ => format!("frames {:?}", &frames[..]),
        };
        Error::malformed(self.reel.path(), what, at)
    }
}

/// What was opened, or why not.
pub(crate) type Opened = Result<Arc<Loaded>, Error>;

/// Where results are left for the tick.
pub(crate) type Inbox = Arc<Mutex<Vec<((u32, u32), Opened)>>>;

/// A file to be opened.
pub(crate) struct Load {
    pub file: u32,
    pub generation: u32,
    pub path: PathBuf,
    /// Nothing: the file at `path`, read by these threads.
    pub source: Result<Arc<dyn Source>, Arc<Crew<Positioning>>>,
    pub limits: Limits,
    pub closing: Arc<AtomicBool>,
    pub library: Arc<Library>,
    pub inbox: Inbox,
}

impl Load {
    /// For the crew.
    pub fn run(self) {
        let Load { file, generation, path, source, limits, closing, library, inbox } = self;
        span!("open", file = %path.display());
        let opened = || -> Opened {
            let source = match source {
                Ok(source) => source,
                Err(crew) => from_path(&path, crew)?,
            };
            let waiting = Waiting { source: source.clone(), closing };
            let reader = Reader::open_named(Arc::new(waiting), &path, &limits.format)?;
            let reel = Reel::check(reader, &limits)?;
            Ok(Arc::new(Loaded::new(reel, source, &library)?))
        };
        // A source of the caller's may panic.
        let opened = catch_unwind(AssertUnwindSafe(opened)).unwrap_or_else(|_| {
            Err(Error::Io {
                path,
                what: "could not be opened".into(),
                source: std::io::Error::other("its source failed"),
            })
        });
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push(((file, generation), opened));
    }
}

fn from_path(path: &Path, crew: Arc<Crew<Positioning>>) -> Result<Arc<dyn Source>, Error> {
    let source = FileSource::open(path).map_err(|source| Error::Io {
        path: path.into(),
        what: "could not be opened".into(),
        source,
    })?;
    Ok(Arc::new(Positioned { source: Arc::new(source), crew }))
}
