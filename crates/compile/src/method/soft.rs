//! Streams kept as fixed-point values of the soft codec: the source of their frames, and the encoder of a
//! stream for either width.

use crate::Error;
use crate::decided::{DecidedCoder, DecidedPart};
use crate::method::coder::{
    Coder, Decoded, FrameMeasure, Group, Segment, Width, held_bytes, held_values, measure_frame, rounded,
};
use crate::method::heights;
use crate::method::points::{PointFrames, build_hierarchy, extent};
use meshreel_codec::mesh::decode::First;
use meshreel_codec::mesh::encode;
use meshreel_codec::mesh::encode::{Encoder, Refused, Work};
use meshreel_codec::mesh::height::Flat;
use meshreel_codec::quantize::fixed::FixedPoint;
use meshreel_codec::quantize::lattice::Extent;
use meshreel_codec::schedule::Schedule;
use meshreel_options::Options;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Creates the encoder of a part; `None` if values of that width cannot hold the tolerance. If it was
/// `decided`, nothing is searched.
pub fn coder<'a, W: Width>(
    frames: &'a PointFrames<'a>,
    count: usize,
    options: &Options,
    decided: Option<&DecidedPart>,
) -> Result<Option<Box<dyn Coder + 'a>>, Error> {
    let (plan, record) = (frames.plan, frames.record);
    let (hierarchy, _) = build_hierarchy(frames);
    let settings = encode::Options {
        effort: options.effort,
        packed: options.preset == meshreel_options::Preset::Fast,
        restart: options.restart(),
        choice: None,
        own_tables: false,
    };
    let Some(extent) = extent(frames) else {
        return Ok(None);
    };
    let order = hierarchy.order.clone();
    let mut work = Work::default();
    if let Some(made) =
        heights::coder::<W>(frames, &hierarchy, count, extent, settings, (decided, &mut work))?
    {
        return Ok(Some(Box::new(Track {
            static_bytes: made.static_bytes,
            flat: Some(made.flat),
            axis: Some(made.axis),
            frames,
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder: made.encoder,
        })));
    }
    if decided.is_some_and(|decided| decided.axis.is_some()) {
        return Err(Error::Malformed { what: format!("{}: its heights", plan.path) });
    }
    let made = match decided {
        None => Encoder::<W>::new(hierarchy, count as u32, extent, settings, frames, &mut work),
        Some(DecidedPart { settled, .. }) => {
            let source = Arc::new(frames);
            let made =
                Encoder::again(hierarchy, count as u32, extent, settings, source, (settled, &mut work));
            match made {
                Err(None) => return Err(Error::Malformed { what: format!("{}: its settings", plan.path) }),
                made => made.map_err(|refused| refused.unwrap_or(Refused::TooFine)),
            }
        }
    };
    frames.check()?;
    match made {
        Ok(encoder) => Ok(Some(Box::new(Track {
            static_bytes: encoder.static_bytes().to_vec(),
            flat: None,
            axis: None,
            frames,
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder,
        }))),
        Err(Refused::TooFine | Refused::Levels) => Ok(None),
        Err(refused) => Err(Error::Promise {
            what: format!("{}: {:?}: {refused}", plan.path, record.semantic),
            target: Default::default(),
        }),
    }
}

struct Track<'a, W> {
    encoder: Encoder<'a, W>,
    frames: &'a PointFrames<'a>,
    extent: Extent,
    /// Point of each fixed-point position.
    order: Vec<u32>,
    static_bytes: Vec<u8>,
    /// The plane of a height field.
    flat: Option<Flat>,
    /// The coordinate that moves.
    axis: Option<u8>,
    /// Decoded keys by number, without the plane.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    /// Buffers that no thread uses at the moment.
    works: Mutex<Vec<Work<W>>>,
}

impl<W: FixedPoint> Track<'_, W> {
    /// Returns the fixed-point positions of a decoded frame as in the player.
    fn laid<'c>(&self, cells: &'c [[W; 4]]) -> Cow<'c, [[W; 4]]> {
        let mut cells = Cow::Borrowed(cells);
        if let Some(flat) = &self.flat {
            flat.lay(cells.to_mut());
        }
        cells
    }

    fn with_work<T>(&self, run: impl FnOnce(&mut Work<W>) -> T) -> T {
        let works = || self.works.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = works().pop().unwrap_or_default();
        let out = run(&mut work);
        works().push(work);
        out
    }

    fn schedule(&self) -> &Schedule {
        self.encoder.schedule()
    }

    /// Measures a decoded frame against its source.
    fn see(&self, points: &[[f32; 3]], decoded: &[[W; 4]]) -> FrameMeasure {
        measure_frame(self.encoder.grid(), &self.order, points, decoded)
    }

    /// The encoder has checked every point; a frame that exceeds the tolerance all the same must never be
    /// written.
    fn keep_promise(&self, frame: u32, seen: &FrameMeasure) -> Result<(), Error> {
        if seen.error <= self.extent.radius {
            return Ok(());
        }
        let (plan, record) = (self.frames.plan, self.frames.record);
        Err(Error::Promise {
            what: format!(
                "{}: {:?} {} off by {:e} in frame {frame}, {:e} allowed",
                plan.path, record.semantic, record.set, seen.error, self.extent.radius
            ),
            target: Default::default(),
        })
    }

    fn failed(&self, refused: Refused) -> Error {
        Error::Promise {
            what: format!("{}: {:?}: {refused}", self.frames.plan.path, self.frames.record.semantic),
            target: Default::default(),
        }
    }
}

impl<W: Width> Coder for Track<'_, W> {
    fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    fn has_heights(&self) -> bool {
        self.flat.is_some()
    }

    fn decided(&self) -> DecidedCoder {
        DecidedCoder::Part(DecidedPart { settled: self.encoder.settled(), axis: self.axis })
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    fn first(&self) -> First {
        W::owned(self.laid(self.encoder.first()).into_owned())
    }

    /// Rounds to a lattice whose error is as large as that of decoding may be.
    fn sample(&self, frames: &[u32]) -> Result<Decoded, Error> {
        let grid = self.encoder.grid();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let mut out = BTreeMap::new();
        for &frame in frames {
            encode::Source::positions(self.frames, frame, &mut points);
            self.frames.check()?;
            let cells = rounded(grid, self.extent.radius, &self.order, &points);
            out.insert(frame, cells);
        }
        Ok(W::decoded(out))
    }

    fn segment(&self, segment: u32, keep: bool) -> Result<Segment, Error> {
        let mut out = Vec::new();
        let mut keys = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let done = self.with_work(|work| {
            (self.encoder).segment(segment, work, &mut |key, bytes, decoded| {
                let frame = self.schedule().key_frame(key);
                encode::Source::positions(self.frames, frame, &mut points);
                let laid = self.laid(decoded);
                out.push((key, bytes, self.see(&points, &laid)));
                keys.push((key, decoded.to_vec()));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        done.map_err(|refused| self.failed(refused))?;
        for (key, _, seen) in &out {
            self.keep_promise(self.schedule().key_frame(*key), seen)?;
        }
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.extend(keys);
        Ok(Segment { keys: out, decoded: W::decoded(decoded_frames) })
    }

    fn held(&self, key: u32) -> Option<Vec<u8>> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        held.get(&key).map(|values| held_bytes(values))
    }

    fn hold(&self, key: u32, bytes: &[u8]) -> bool {
        let Some(values) = held_values(bytes, self.order.len()) else { return false };
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.insert(key, values);
        true
    }

    fn group(&self, group: u32, keep: bool) -> Result<Group, Error> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let find = |frame: u32| {
            let key = self.schedule().key_of(frame).and_then(|key| held.get(&key));
            // The caller has coded them; an empty slice is refused by the encoder's own checks.
            key.map_or(&[][..], Vec::as_slice)
        };
        let mut seen = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let done = self.with_work(|work| {
            (self.encoder).group(group, &find, work, &mut |frame, points, decoded| {
                let laid = self.laid(decoded);
                seen.push((frame, self.see(points, &laid)));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        let units = done.map_err(|refused| self.failed(refused))?;
        for (frame, seen) in &seen {
            self.keep_promise(*frame, seen)?;
        }
        Ok(Group { units, seen, decoded: W::decoded(decoded_frames) })
    }

    fn forget(&self, before: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&before);
    }
}
