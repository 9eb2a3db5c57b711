//! BVH, Biovision's motion capture text: a hierarchy with channels per joint, then one row of numbers per
//! sample.
//!
//! ```text
//! HIERARCHY
//! ROOT hips { OFFSET x y z  CHANNELS n name…  JOINT … { … }  End Site { OFFSET x y z } }
//! MOTION
//! Frames: n
//! Frame Time: seconds
//! rows of numbers: all channels in the order of the hierarchy
//! ```
//!
//! Rotations are in degrees and multiply in the order of their channels. A position channel replaces its axis
//! of the offset. Lengths are taken as centimetres, which is what nearly all files hold. Several roots are
//! read.

use super::ReadOptions;
use super::lines::{is_space, trim};
use glam::{DQuat, DVec3};
use meshreel_files::PositionedFile;
use meshreel_scene::Qvv;
use meshreel_scene::clip::{Clip, Joint, MAX_JOINTS, Skeleton, SubTrack, Track};
use meshreel_scene::{Error, LengthUnit, Remark, Scene};
use std::path::Path;

/// The largest file accepted, in bytes; the whole file is held in memory.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Opens a BVH file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let file = PositionedFile::open(path)?;
    if file.length() > MAX_FILE_BYTES {
        return Err(Error::limit(path, "bytes of a BVH file", file.length(), MAX_FILE_BYTES));
    }
    let mut bytes = vec![0; file.length() as usize];
    file.read_exact(0, &mut bytes)?;
    parse(path, &bytes, options)
}

/// Reads the bytes of a file; `path` is for messages and names.
pub fn parse(path: &Path, bytes: &[u8], options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let mut remarks = Vec::new();
    let mut words = WordCursor::new(path, bytes);
    let nodes = hierarchy(&mut words)?;
    let name = path.file_stem().map_or("clip".into(), |stem| stem.to_string_lossy().into_owned());
    let clip = motion(&mut words, &nodes, &name, options, &mut remarks)?;
    let joint = |node: JointNode| Joint { rotation_order: node.rotation_order(), ..node.joint };
    let skeleton = Skeleton { name, joints: nodes.into_iter().map(joint).collect() };
    let scene = Scene {
        unit: Some(LengthUnit::Centimetre),
        fps: Some(clip.fps),
        format: "bvh",
        skeletons: vec![skeleton],
        clips: vec![clip],
        ..Scene::default()
    };
    Ok((scene, remarks))
}

/// A cursor over the whitespace-separated words of the text, which can report its line number in errors.
struct WordCursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> WordCursor<'a> {
    fn new(path: &'a Path, bytes: &'a [u8]) -> WordCursor<'a> {
        let start = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        WordCursor { path, bytes, offset: start }
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = &self.bytes[self.offset..];
        let gap = |b: &u8| is_space(*b) || *b == b'\n';
        let start = rest.iter().position(|b| !gap(b))?;
        let length = rest[start..].iter().position(gap);
        let end = length.map_or(rest.len(), |length| start + length);
        self.offset += end;
        Some(&rest[start..end])
    }

    /// Returns the rest of the current line, trimmed.
    fn line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.offset..];
        let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
        self.offset += end;
        trim(&rest[..end])
    }

    fn malformed<T>(&self, what: impl Into<String>) -> Result<T, Error> {
        let newlines = self.bytes[..self.offset].iter().filter(|b| **b == b'\n').count();
        let line = format!("line {}", newlines + 1);
        Err(Error::malformed(self.path, what, line))
    }

    fn expect(&mut self, keyword: &str) -> Result<(), Error> {
        match self.next() {
            Some(word) if word.eq_ignore_ascii_case(keyword.as_bytes()) => Ok(()),
            Some(word) => self.malformed(format!("{} in place of {keyword}", quoted(word))),
            None => self.malformed(format!("the file ends before {keyword}")),
        }
    }

    fn number(&mut self, what: &str) -> Result<f64, Error> {
        let Some(word) = self.next() else {
            return self.malformed(format!("the file ends before {what}"));
        };
        let text = std::str::from_utf8(word).ok();
        match text.and_then(|text| text.parse::<f64>().ok()) {
            // Far beyond any sensible value in any unit, and products stay finite.
            Some(value) if value.abs() <= 1e15 => Ok(value),
            Some(value) => self.malformed(format!("{what} is {value}")),
            None => self.malformed(format!("{} in place of {what}", quoted(word))),
        }
    }

    fn vector(&mut self, what: &str) -> Result<DVec3, Error> {
        Ok(DVec3::new(self.number(what)?, self.number(what)?, self.number(what)?))
    }
}

/// Quotes a word of the file for a message, cut to 40 bytes.
fn quoted(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(40)]);
    format!("'{}'", text.escape_debug())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JointChannel {
    Position(usize),
    Rotation(usize),
    Scale(usize),
}

impl JointChannel {
    fn parse(word: &[u8]) -> Option<JointChannel> {
        let lower = word.to_ascii_lowercase();
        let axis = match lower.first()? {
            b'x' => 0,
            b'y' => 1,
            b'z' => 2,
            _ => return None,
        };
        match &lower[1..] {
            b"position" => Some(JointChannel::Position(axis)),
            b"rotation" => Some(JointChannel::Rotation(axis)),
            b"scale" => Some(JointChannel::Scale(axis)),
            _ => None,
        }
    }
}

struct JointNode {
    joint: Joint,
    channels: Vec<JointChannel>,
}

impl JointNode {
    /// Returns the rotation axes of the joint, outermost first; axes without a channel follow after the
    /// others. Returns `None` if there is no rotation channel.
    fn rotation_order(&self) -> Option<[u8; 3]> {
        let turns = self.channels.iter().filter_map(|c| match c {
            JointChannel::Rotation(axis) => Some(*axis as u8),
            _ => None,
        });
        let mut axes: Vec<u8> = turns.collect();
        let said = !axes.is_empty();
        for axis in [2, 1, 0] {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        axes.try_into().ok().filter(|_| said)
    }

    /// `true` for each of position, rotation and scale for which the joint has a channel.
    fn animated_parts(&self) -> [bool; 3] {
        let any = |kind: fn(&JointChannel) -> bool| self.channels.iter().any(kind);
        [
            any(|c| matches!(c, JointChannel::Position(_))),
            any(|c| matches!(c, JointChannel::Rotation(_))),
            any(|c| matches!(c, JointChannel::Scale(_))),
        ]
    }
}

/// Reads up to and including the word MOTION. Not recursive, since files nest to any depth.
fn hierarchy(words: &mut WordCursor) -> Result<Vec<JointNode>, Error> {
    words.expect("HIERARCHY")?;
    let mut nodes: Vec<JointNode> = Vec::new();
    // Open braces: the joint's number, or `None` for an end site.
    let mut open: Vec<Option<usize>> = Vec::new();
    loop {
        let Some(word) = words.next() else {
            return words.malformed("the file ends within the hierarchy");
        };
        let inside = open.last().copied();
        let keyword = word.to_ascii_uppercase();
        match (&keyword[..], inside) {
            (b"ROOT", None) | (b"JOINT", Some(Some(_))) => {
                if nodes.len() >= MAX_JOINTS {
                    return Err(Error::limit(
                        words.path,
                        "joints",
                        nodes.len() as u64 + 1,
                        MAX_JOINTS as u64,
                    ));
                }
                let line = words.line();
                // Some programs put the brace after the name.
                let (name, brace) = match line.strip_suffix(b"{") {
                    Some(name) => (trim(name), true),
                    None => (line, false),
                };
                if !brace {
                    words.expect("{")?;
                }
                open.push(Some(nodes.len()));
                nodes.push(JointNode {
                    joint: Joint {
                        name: String::from_utf8_lossy(name).into_owned(),
                        parent: inside.flatten(),
                        ..Joint::default()
                    },
                    channels: Vec::new(),
                });
            }
            (b"END", Some(Some(_))) => {
                words.expect("Site")?;
                words.expect("{")?;
                open.push(None);
            }
            (b"OFFSET", Some(place)) => {
                let offset = words.vector("an offset")?;
                match place {
                    Some(joint) => nodes[joint].joint.rest.translation = offset,
                    None => {
                        // The joint that contains the end site.
                        if let Some(&Some(joint)) = open.iter().rev().nth(1) {
                            nodes[joint].joint.end_sites.push(offset);
                        }
                    }
                }
            }
            (b"CHANNELS", Some(Some(joint))) => channels(words, &mut nodes[joint])?,
            (b"}", Some(_)) => {
                open.pop();
            }
            (b"MOTION", None) if !nodes.is_empty() => return Ok(nodes),
            _ => return words.malformed(format!("{} does not belong here", quoted(word))),
        }
    }
}

fn channels(words: &mut WordCursor, node: &mut JointNode) -> Result<(), Error> {
    let count = words.number("a number of channels")?;
    if !node.channels.is_empty() || !(0.0..=9.0).contains(&count) || count.fract() != 0.0 {
        return words.malformed(format!("{count} channels of joint {}", quoted(node.joint.name.as_bytes())));
    }
    for _ in 0..count as usize {
        let Some(word) = words.next() else {
            return words.malformed("the file ends within channels");
        };
        match JointChannel::parse(word) {
            Some(channel) if !node.channels.contains(&channel) => node.channels.push(channel),
            Some(_) => return words.malformed(format!("channel {} twice", quoted(word))),
            None => return words.malformed(format!("{} is no channel", quoted(word))),
        }
    }
    Ok(())
}

/// Reads everything after the word MOTION.
fn motion(
    words: &mut WordCursor,
    nodes: &[JointNode],
    name: &str,
    options: &ReadOptions,
    remarks: &mut Vec<Remark>,
) -> Result<Clip, Error> {
    words.expect("Frames:")?;
    let frames = words.number("a number of frames")?;
    if !(frames >= 1.0 && frames.fract() == 0.0) {
        return words.malformed(format!("{frames} frames; a clip has at least one"));
    }
    words.expect("Frame")?;
    words.expect("Time:")?;
    let step = words.number("the time of a frame")?;
    let fps = match rate(step) {
        Some(fps) => fps,
        None => {
            remarks.push(Remark::new(
                words.path.display().to_string(),
                format!("{step} seconds per frame; {} frames per second were taken", options.source_fps),
            ));
            options.source_fps
        }
    };
    let columns: usize = nodes.iter().map(|node| node.channels.len()).sum();
    // A number takes at least two bytes, so the file size bounds the allocation. Without columns nothing is
    // allocated.
    let left = (words.bytes.len() - words.offset) as f64;
    let rows = if columns == 0 { 1.0 } else { frames };
    if rows * columns as f64 * 2.0 - 1.0 > left {
        return words.malformed(format!(
            "cut short: {frames} frames of {columns} numbers do not fit the rest of the file"
        ));
    }
    let samples = rows as usize;
    if samples as f64 != frames {
        remarks.push(Remark::new(
            words.path.display().to_string(),
            "no joint has a channel; one sample was taken",
        ));
    }
    let tracks = read_tracks(words, nodes, samples)?;
    if words.next().is_some() {
        remarks.push(Remark::new(
            words.path.display().to_string(),
            format!("more numbers than {frames} frames need; the rest was left out"),
        ));
    }
    Ok(Clip {
        name: name.into(),
        skeleton: 0,
        start: 0.0,
        fps,
        samples,
        tracks,
        scalars: Vec::new(),
        markers: Vec::new(),
    })
}

/// Reads the rows of numbers into one track per joint; a sub-track without channels keeps the rest pose.
fn read_tracks(words: &mut WordCursor, nodes: &[JointNode], samples: usize) -> Result<Vec<Track>, Error> {
    let mut rotations: Vec<Vec<DQuat>> = vec![Vec::new(); nodes.len()];
    let mut translations: Vec<Vec<DVec3>> = vec![Vec::new(); nodes.len()];
    let mut scales: Vec<Vec<DVec3>> = vec![Vec::new(); nodes.len()];
    let kinds: Vec<[bool; 3]> = nodes.iter().map(JointNode::animated_parts).collect();
    for sample in 0..samples {
        for (j, node) in nodes.iter().enumerate() {
            let value = read_joint(words, node, sample)?;
            let [moves, turns, scaled] = kinds[j];
            if moves {
                translations[j].push(value.translation);
            }
            if turns {
                rotations[j].push(value.rotation.normalize());
            }
            if scaled {
                scales[j].push(value.scale);
            }
        }
    }
    let mut tracks = Vec::with_capacity(nodes.len());
    for (((node, rotation), translation), scale) in nodes.iter().zip(rotations).zip(translations).zip(scales)
    {
        let rest = node.joint.rest;
        tracks.push(Track {
            rotation: SubTrack::new(rotation).unwrap_or(SubTrack::constant(rest.rotation)),
            translation: SubTrack::new(translation).unwrap_or(SubTrack::constant(rest.translation)),
            scale: SubTrack::new(scale).unwrap_or(SubTrack::constant(rest.scale)),
        });
    }
    Ok(tracks)
}

/// Reads one sample of a joint's channels; rotations are in degrees and multiply in channel order.
#[inline]
fn read_joint(words: &mut WordCursor, node: &JointNode, sample: usize) -> Result<Qvv, Error> {
    let mut value = node.joint.rest;
    for &channel in &node.channels {
        let number = words.number("a value").map_err(|error| match error {
            Error::Malformed { path, what, at } => Error::Malformed {
                path,
                what: format!("{what} (frame {sample}, joint {})", node.joint.name),
                at,
            },
            other => other,
        })?;
        match channel {
            JointChannel::Position(axis) => value.translation[axis] = number,
            JointChannel::Scale(axis) => value.scale[axis] = number,
            JointChannel::Rotation(axis) => {
                let turn = DQuat::from_axis_angle(DVec3::AXES[axis], number.to_radians());
                value.rotation *= turn;
            }
        }
    }
    Ok(value)
}

/// Returns the frames per second for a frame time in seconds. Files print about six digits of it: a whole
/// rate that prints the same is taken. Returns `None` if the time is not positive or its inverse not finite.
fn rate(step: f64) -> Option<f64> {
    if !(step > 0.0 && (1.0 / step).is_finite()) {
        return None;
    }
    let fps = 1.0 / step;
    let whole = fps.round();
    let same = whole >= 1.0 && (step - 1.0 / whole).abs() <= 1e-6 && (fps / whole - 1.0).abs() < 2e-4;
    Some(if same { whole } else { fps })
}
