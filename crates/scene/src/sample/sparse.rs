//! Selects the frames that a long animation needs. Two keys far apart can turn an animation that moves for
//! seconds into millions of frames. Curves are smooth between keys, so frames are left out where linear
//! interpolation of the remaining ones is as accurate as 32-bit floats; where nothing moves, that is all of
//! them.

/// The largest difference that is ignored, relative to the largest number of its kind.
pub const RELATIVE_TOLERANCE: f64 = 1.0 / (1 << 24) as f64;
/// Places between two frames that are tested. They avoid simple fractions, at which whole turns repeat
/// themselves.
const TEST_FRACTIONS: [f64; 5] = [0.137, 0.319, 0.5, 0.711, 0.918];

/// Returns the frames around `key`, up to `last`. If the key is on a frame, that includes the frame before
/// it: a constant stretch may end there.
pub fn frames_around(key: f64, last: usize) -> impl Iterator<Item = usize> {
    let all = [key.ceil() - 1.0, key.floor(), key.ceil(), key.floor() + 1.0];
    all.into_iter().filter(move |frame| (0.0..=last as f64).contains(frame)).map(|frame| frame as usize)
}

/// Returns the frames that are needed, ascending: all `keys` (ascending), and between two of them enough that
/// each number is linear between frames within its tolerance in `near`. Returns `None` if these are more than
/// `most`.
pub fn needed_frames(
    keys: Vec<usize>,
    most: usize,
    near: &[f64],
    at: &impl Fn(usize) -> Vec<f64>,
) -> Option<Vec<usize>> {
    let mut more = Vec::new();
    for pair in keys.windows(2) {
        let mut left = vec![((pair[0], at(pair[0])), (pair[1], at(pair[1])))];
        while let Some((from, to)) = left.pop() {
            if is_linear(&from, &to, near, at) {
                continue;
            }
            if keys.len() + more.len() >= most {
                return None;
            }
            let middle = from.0.midpoint(to.0);
            let between = (middle, at(middle));
            more.push(middle);
            left.extend([(from, between.clone()), (between, to)]);
        }
    }
    let mut out = keys;
    out.extend(more);
    out.sort_unstable();
    (out.len() <= most).then_some(out)
}

/// A frame, and all numbers at it.
type FrameValues = (usize, Vec<f64>);

/// `true` if all numbers are linear from one frame to the other within `near`.
fn is_linear(from: &FrameValues, to: &FrameValues, near: &[f64], at: &impl Fn(usize) -> Vec<f64>) -> bool {
    let length = to.0 - from.0;
    let is_near = |frame: usize| {
        let part = (frame - from.0) as f64 / length as f64;
        let between = from.1.iter().zip(&to.1).map(|(a, b)| a + (b - a) * part);
        at(frame).iter().zip(between).zip(near).all(|((own, line), near)| (own - line).abs() <= *near)
    };
    match length {
        0..=8 => (from.0 + 1..to.0).all(is_near),
        _ => TEST_FRACTIONS.iter().all(|part| is_near(from.0 + (part * length as f64) as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_many_as_curves_bend() {
        let last = 1_000_000;
        let keys = |at: &[f64]| {
            let mut out: Vec<usize> = at.iter().flat_map(|key| frames_around(*key, last)).collect();
            out.sort_unstable();
            out.dedup();
            out
        };
        // Constant, then a step, then a line, then a cubic.
        let at = |frame: usize| {
            let x = frame as f64;
            let part = (x - 600_000.0) / 400_000.0;
            vec![match frame {
                0..=199_999 => 3.0,
                200_000..=399_999 => 4.0,
                400_000..=599_999 => 4.0 + (x - 400_000.0) / 200_000.0,
                _ => 5.0 + part * part * (3.0 - 2.0 * part),
            }]
        };
        let still =
            needed_frames(keys(&[0.0, 200_000.0, 400_000.0, 600_000.0]), 1000, &[RELATIVE_TOLERANCE], &at)
                .unwrap();
        assert_eq!(
            still,
            [0, 1, 199_999, 200_000, 200_001, 399_999, 400_000, 400_001, 599_999, 600_000, 600_001]
        );
        let all = needed_frames(
            keys(&[0.0, 200_000.0, 400_000.0, 600_000.0, 1e6]),
            100_000,
            &[RELATIVE_TOLERANCE],
            &at,
        )
        .unwrap();
        assert!((1000..20_000).contains(&all.len()), "{}", all.len());
        for frame in (0..=last).step_by(997) {
            let after = all.partition_point(|own| *own < frame);
            let (from, to) = (all[after.saturating_sub(1)], all[after]);
            let part = (frame - from) as f64 / (to - from).max(1) as f64;
            let line = at(from)[0] + (at(to)[0] - at(from)[0]) * part;
            assert!((line - at(frame)[0]).abs() <= 4.0 * RELATIVE_TOLERANCE, "{frame}");
        }
        // Whole turns end at their starting value.
        let turns = |frame: usize| vec![(frame as f64 / last as f64 * 8.0 * std::f64::consts::TAU).sin()];
        assert!(needed_frames(vec![0, last], last, &[RELATIVE_TOLERANCE], &turns).unwrap().len() > 10_000);
        assert!(needed_frames(vec![0, last], 1000, &[RELATIVE_TOLERANCE], &turns).is_none());
    }
}
