//! The cost of parts and points, and possible savings: facts for advice.

use super::posed::PosedMesh;
use crate::report::{BoneMeasures, HeaviestPart, ResidualSpikes};

/// Points are spikes if at most this fraction of those with a residual …
const MAX_SPIKE_FRACTION: f64 = 0.05;
/// … take at least this fraction of it.
const MIN_RESIDUAL_FRACTION: f64 = 0.3;

/// Returns all measurements. `residual`: approximate bits of each point that has one, in the order of
/// `cells`.
pub fn measure_bones(posed: &PosedMesh, cells: &[u32], residual: &[u64]) -> BoneMeasures {
    let source: Vec<u32> = posed.frames.source_points().collect();
    let point = |cell: usize| {
        let point = posed.hierarchy.order.get(cell);
        point.and_then(|&p| source.get(p as usize)).copied()
    };
    let bits = posed.rigid.as_ref().map_or(&[][..], |rigid| &rigid.bits);
    let total: u64 = bits.iter().sum();
    let most = (0..bits.len()).max_by_key(|&b| (bits[b], std::cmp::Reverse(b)));
    let heaviest = most.filter(|_| total > 0).and_then(|part| {
        let own = |v: &usize| posed.skin.rig.influences(*v).any(|(bone, _)| bone == part);
        Some(HeaviestPart {
            part,
            point: point((0..posed.hierarchy.order.len()).find(own)?)?,
            fraction: bits[part] as f64 / total as f64,
        })
    });
    BoneMeasures {
        heaviest,
        rest: posed.rest,
        residual: spikes(residual).and_then(|(points, share, first)| {
            Some(ResidualSpikes {
                points,
                points_with_residual: residual.len(),
                fraction: share,
                point: point(*cells.get(first)? as usize)?,
            })
        }),
    }
}

/// Returns the fewest points that take much of the residual, if they are few; their share, and the first of
/// them.
fn spikes(residual: &[u64]) -> Option<(usize, f64, usize)> {
    let total: u64 = residual.iter().sum();
    let mut order: Vec<usize> = (0..residual.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(residual[i]), i));
    let mut sum = 0;
    for (count, &i) in order.iter().enumerate() {
        if count as f64 > MAX_SPIKE_FRACTION * residual.len() as f64 {
            return None;
        }
        sum += residual[i];
        if sum as f64 >= MIN_RESIDUAL_FRACTION * total as f64 {
            return (total > 0).then(|| (count + 1, sum as f64 / total as f64, order[0]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f09_few_points_that_keep_much_are_found() {
        let mut all = vec![1u64; 200];
        assert_eq!(spikes(&all), None);
        (all[17], all[130]) = (100, 400);
        // Two points of 200 have 500 of 698; one alone has more than 30 % of it.
        assert_eq!(spikes(&all), Some((1, 400.0 / 698.0, 130)));
        assert_eq!(spikes(&[]), None);
        assert_eq!(spikes(&[0; 50]), None);
    }
}
