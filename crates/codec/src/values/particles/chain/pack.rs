//! Encodes chains. Of those in packed bits the motion of streams is fitted here, and residuals are chosen
//! that are narrow.

use super::Chain;
use super::blocks::{BLOCK, pack, width};
use super::frame::{ChainCoding, ChainStream, PointFrame, PointLayout};
use super::motion::check_components;
use super::packed::{MAX_PULL, PackedMotion, PackedReader, PointRun, StreamStep};
use super::write::{
    self, InputFrame, InputStream, MIN_ROWS, PastValues, difference_rows, grain_of, point_histories, rounded,
    solve_least_distances,
};
use crate::Corrupt;
use crate::bytes::{put_long_varint, put_varint};
use crate::values::particles::{NO_POINT, ParticlePoints};

/// The points of a frame as a reader finds them, and their bytes.
struct CodedPoints {
    bytes: Vec<u8>,
    count: usize,
    runs: Vec<PointRun>,
    curve_starts: Vec<bool>,
}

/// A stream of all frames, coded with one motion.
struct CodedStream {
    motion: PackedMotion,
    /// The bytes of each frame.
    frames: Vec<Vec<u8>>,
    /// The planes of each frame.
    planes: Vec<Vec<i32>>,
}

impl CodedStream {
    fn size(&self) -> usize {
        self.frames.iter().map(Vec::len).sum()
    }
}

/// The damping of a velocity that stays.
const UNDAMPED: i32 = 256;

/// The memories of motion that are tried.
const MEMORIES: [u32; 3] = [3, 4, 8];

/// Appends the links of frames that follow the frame in `chain`, and leaves `chain` at the last of them.
/// Returns the expected cost of the first stream, the positions, and of all streams, in 2⁻⁸ bits.
pub fn encode(
    out: &mut Vec<u8>,
    layout: PointLayout<'_>,
    chain: &mut Chain,
    frames: &mut [InputFrame<'_>],
) -> Result<[u64; 2], Corrupt> {
    chain.coding = layout.coding;
    match layout.coding {
        ChainCoding::Adaptive => write::encode(out, layout, chain, frames),
        ChainCoding::Packed => encode_packed(out, layout, chain, frames),
    }
}

fn encode_packed(
    out: &mut Vec<u8>,
    layout: PointLayout<'_>,
    chain: &mut Chain,
    frames: &mut [InputFrame<'_>],
) -> Result<[u64; 2], Corrupt> {
    let first = chain.now.streams.clone();
    let mut points = Vec::new();
    for frame in frames.iter() {
        points.push(code_points(layout, chain, frame)?);
    }
    let mut streams = Vec::new();
    for (s, &stream) in layout.streams.iter().enumerate() {
        check_components(stream.components)?;
        let before = first.get(s).map_or(&[][..], Vec::as_slice);
        let code = |motion| code_stream((s, stream), motion, before, &points, frames);
        let mut all: Vec<CodedStream> = motions(s, stream, frames).into_iter().map(code).collect();
        all.sort_by_key(CodedStream::size);
        if let (Some(best), true) = (all.first().map(|own| own.motion), all.len() > 1) {
            all.extend(MEMORIES.map(|memory| code(PackedMotion { memory, ..best })));
        }
        streams.extend(all.into_iter().min_by_key(CodedStream::size));
    }
    for (own, stream) in streams.iter().zip(layout.streams) {
        put_varint(own.motion.grain as u32 - 1, out);
        put_varint(own.motion.memory, out);
        put_varint(own.motion.damping as u32, out);
        for pull in &own.motion.pull[..stream.components] {
            put_varint(((pull << 1) ^ (pull >> 31)) as u32, out);
        }
    }
    for (f, (frame, points)) in frames.iter_mut().zip(&points).enumerate() {
        out.extend_from_slice(&points.bytes);
        for (values, own) in frame.streams.iter_mut().zip(&streams) {
            out.extend_from_slice(&own.frames[f]);
            let codes = own.planes[f].iter().take(values.codes.len());
            values.codes.iter_mut().zip(codes).for_each(|(to, code)| *to = *code as u32);
        }
    }
    chain.now.streams = streams.iter_mut().map(|own| own.planes.pop().unwrap_or_default()).collect();
    let bits = |own: &CodedStream| 8 * 256 * own.size() as u64;
    Ok([streams.first().map_or(0, bits), streams.iter().map(bits).sum()])
}

/// Codes the points of a frame, and lets `chain` go on to it.
fn code_points(
    layout: PointLayout<'_>,
    chain: &mut Chain,
    frame: &InputFrame<'_>,
) -> Result<CodedPoints, Corrupt> {
    let mut bytes = Vec::new();
    match frame.streams.is_empty() {
        true => put_varint(0, &mut bytes),
        false => put_points(&mut bytes, layout, &chain.now, frame.points),
    }
    chain.read_packed_points(layout, &mut PackedReader::of_points(&bytes))?;
    let (runs, curve_starts) = (chain.packed.runs.clone(), chain.curve_starts.clone());
    let curve_starts = if layout.kind.curves { curve_starts } else { Vec::new() };
    Ok(CodedPoints { bytes, count: chain.now.count, runs, curve_starts })
}

fn put_points(out: &mut Vec<u8>, layout: PointLayout<'_>, before: &PointFrame, points: ParticlePoints<'_>) {
    let same = match layout.kind.ids {
        true => before.ids == points.ids,
        false => before.run == points.run && before.run > 0 && before.count == points.count,
    };
    put_varint(if same { 2 } else { 1 }, out);
    if same {
        return;
    }
    if !layout.kind.ids {
        put_varint(points.run.saturating_sub(1), out);
        put_varint(if layout.kind.curves { points.curves.len() } else { points.count } as u32, out);
        points.curves.iter().for_each(|length| put_varint(*length, out));
        return;
    }
    let lost = |id: &u64| points.ids.binary_search(id).is_err();
    let gone: Vec<usize> = (0..before.ids.len()).filter(|v| lost(&before.ids[*v])).collect();
    put_varint(gone.len() as u32, out);
    let mut next = 0;
    for v in gone {
        put_varint((v - next) as u32, out);
        next = v + 1;
    }
    let born: Vec<u64> =
        points.ids.iter().copied().filter(|id| before.ids.binary_search(id).is_err()).collect();
    put_varint(born.len() as u32, out);
    let Some(first) = born.first() else {
        return;
    };
    let mut next = match before.ids.last() {
        Some(last) if last < first => {
            out.push(1);
            last + 1
        }
        _ => {
            out.push(0);
            0
        }
    };
    for id in born {
        put_long_varint(id - next, out);
        next = id.saturating_add(1);
    }
}

/// Returns the motions that are tried: points hold, go on, or also obey what they mostly obey.
fn motions(s: usize, stream: ChainStream, frames: &[InputFrame<'_>]) -> Vec<PackedMotion> {
    let grain = grain_of(s, frames);
    let plain = PackedMotion { grain, memory: 0, damping: UNDAMPED, pull: [0; 4] };
    if frames.len() < 2 {
        return vec![plain];
    }
    let tracks = point_histories(s, stream.components, frames);
    let mut all = vec![plain, PackedMotion { damping: 0, ..plain }];
    for terms in [1, 2] {
        all.extend(fit(&tracks, stream.components, terms, plain));
    }
    all
}

/// Fits the pull of each component, and with two terms the damping.
fn fit(
    tracks: &[(PastValues, usize)],
    components: usize,
    terms: usize,
    plain: PackedMotion,
) -> Option<PackedMotion> {
    let mut fitted = plain;
    let mut damping = Vec::new();
    for k in 0..components {
        let rows = difference_rows(tracks, k);
        if rows.len() >= MIN_ROWS {
            let solved = solve_least_distances(&rows, terms, f64::from(plain.grain));
            fitted.pull[k] = rounded(256.0 * solved[0], MAX_PULL);
            damping.push(solved[1]);
        }
    }
    if damping.is_empty() {
        return None;
    }
    let more = damping.iter().sum::<f64>() / damping.len() as f64;
    fitted.damping = rounded(f64::from(UNDAMPED) * (1.0 + more), 2 * UNDAMPED).max(0);
    (fitted != plain).then_some(fitted)
}

fn code_stream(
    (s, stream): (usize, ChainStream),
    motion: PackedMotion,
    first: &[i32],
    points: &[CodedPoints],
    frames: &[InputFrame<'_>],
) -> CodedStream {
    let mut out = CodedStream { motion, frames: Vec::new(), planes: Vec::new() };
    for (points, frame) in points.iter().zip(frames) {
        let before = out.planes.last().map_or(first, Vec::as_slice);
        let mut planes = Vec::new();
        let bytes = match frame.streams.get(s) {
            None => Vec::new(),
            Some(values) => {
                let step = StreamStep {
                    stream,
                    motion,
                    runs: &points.runs,
                    curve_starts: &points.curve_starts,
                    before,
                    rest_apart: false,
                };
                match stream.components {
                    1 => code_frame::<1>(step, points.count, values, &mut planes),
                    2 => code_frame::<2>(step, points.count, values, &mut planes),
                    3 => code_frame::<3>(step, points.count, values, &mut planes),
                    _ => code_frame::<4>(step, points.count, values, &mut planes),
                }
            }
        };
        out.frames.push(bytes);
        out.planes.push(planes);
    }
    out
}

/// Codes a stream of a frame; `planes` become those of a decoder.
fn code_frame<const N: usize>(
    step: StreamStep<'_>,
    count: usize,
    values: &InputStream,
    planes: &mut Vec<i32>,
) -> Vec<u8> {
    // By point: is it at rest?, and its residual.
    let mut living: Vec<(bool, [i32; N])> = Vec::new();
    let mut fresh: Vec<[i32; N]> = Vec::new();
    let mut codes: Vec<[i32; N]> = Vec::with_capacity(count);
    let (mut born, mut start) = (None, None);
    for run in step.runs {
        for i in 0..run.count as usize {
            let v = codes.len();
            let begins = step.curve_starts.get(v).copied().unwrap_or(false);
            let expected = match run.from {
                NO_POINT => (if begins { start } else { born }).map_or([0; N], |v: usize| codes[v]),
                from => step.expected_point(from as usize + i),
            };
            let residual = choose(values, (v, count), step, &expected);
            codes.push(std::array::from_fn(|k| step.value(expected[k], residual[k])));
            match run.from {
                NO_POINT => {
                    fresh.push(residual);
                    born = Some(v);
                    start = if begins { born } else { start };
                }
                from => living.push((!step.moves(from as usize + i), residual)),
            }
        }
    }
    let all: Vec<[i32; N]> = living.iter().map(|(_, residual)| *residual).collect();
    let part = |rests: bool| -> Vec<[i32; N]> {
        living.iter().filter(|(own, _)| *own == rests).map(|(_, residual)| *residual).collect()
    };
    let candidates = [(false, [all, Vec::new(), fresh.clone()]), (true, [part(false), part(true), fresh])];
    let [(together, residuals), (apart, apart_residuals)] = candidates.map(|(rest_apart, lists)| {
        let residuals = residual_planes(&lists);
        let mut bytes = vec![u8::from(rest_apart)];
        put_blocks(&residuals, N, &mut bytes);
        (bytes, residuals)
    });
    // Sorting points while decoding takes time.
    let rest_apart = apart.len() + apart.len() / 16 < together.len();
    let step = StreamStep { rest_apart, ..step };
    let (bytes, residuals) = if rest_apart { (apart, apart_residuals) } else { (together, residuals) };
    step.run(step.lists(), &residuals, &mut Vec::new(), count, planes);
    bytes
}

/// Chooses the residual with the narrowest numbers.
fn choose<const N: usize>(
    values: &InputStream,
    (v, count): (usize, usize),
    step: StreamStep<'_>,
    expected: &[i32; N],
) -> [i32; N] {
    let wrapped = expected.map(|code| step.stream.wrap(code));
    let target = values.target(v, count);
    if values.distance_squared(&target, &wrapped).is_some() {
        return [0; N];
    }
    if values.offset.is_empty() {
        return std::array::from_fn(|k| {
            step.stream.narrow((target[k] as u32 as i32).wrapping_sub(wrapped[k]))
        });
    }
    let cost = |residual: &[i32; N]| residual.iter().map(|r| f64::from(width(*r))).sum();
    values.residual(&target, &wrapped, step.motion.grain, cost).0
}

/// Returns a plane of residuals for each component: the lists, each padded to whole blocks.
fn residual_planes<const N: usize>(lists: &[Vec<[i32; N]>; 3]) -> Vec<i32> {
    let mut out = Vec::new();
    for k in 0..N {
        for list in lists {
            out.extend(list.iter().map(|residual| residual[k]));
            out.resize(out.len().next_multiple_of(BLOCK), 0);
        }
    }
    out
}

/// Appends the blocks of all components.
fn put_blocks(residuals: &[i32], components: usize, out: &mut Vec<u8>) {
    let plane = residuals.len() / components;
    let (mut flags, mut codes, mut fields) = (vec![0u8; (plane / BLOCK).div_ceil(8)], Vec::new(), Vec::new());
    for b in 0..plane / BLOCK {
        let block =
            |k: usize| -> [i32; BLOCK] { std::array::from_fn(|v| residuals[k * plane + b * BLOCK + v]) };
        if (0..components).all(|k| block(k) == [0; BLOCK]) {
            continue;
        }
        flags[b / 8] |= 1 << (b % 8);
        codes.extend((0..components).map(|k| pack(&block(k), &mut fields)));
    }
    out.extend(flags);
    out.extend(codes.chunks(2).map(|pair| pair[0] | pair.get(1).map_or(0, |code| code << 4)));
    out.extend(fields);
}
