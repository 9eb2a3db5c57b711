//! Blend shapes with in-between targets: the weight of each target.

/// Returns the weight of key `k` when its channel has weight `weight`. `targets` are the weights at which
/// each key is fully reached, ascending; at 0 every key's weight is 0.
pub fn weight_of_key(targets: &[f64], k: usize, weight: f64) -> f64 {
    // The keys on both sides, with 0 as one of them; beyond the last key the weight is extrapolated.
    let mut keys: Vec<(f64, Option<usize>)> =
        targets.iter().enumerate().map(|(i, t)| (*t, Some(i))).collect();
    keys.push((0.0, None));
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
    let above = keys.partition_point(|(target, _)| *target <= weight).clamp(1, keys.len() - 1);
    let ((low, before), (high, after)) = (keys[above - 1], keys[above]);
    if high <= low {
        return 0.0;
    }
    let part = (weight - low) / (high - low);
    match Some(k) {
        own if own == after => part,
        own if own == before => 1.0 - part,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::weight_of_key;

    #[test]
    fn weights_go_from_key_to_key() {
        for (weight, expected) in
            [(0.0, [0.0, 0.0]), (0.25, [0.5, 0.0]), (0.5, [1.0, 0.0]), (0.75, [0.5, 0.5]), (1.0, [0.0, 1.0])]
        {
            for (k, expected) in expected.into_iter().enumerate() {
                assert_eq!(weight_of_key(&[0.5, 1.0], k, weight), expected, "key {k} at {weight}");
            }
        }
        assert_eq!(weight_of_key(&[1.0], 0, 1.5), 1.5);
        assert_eq!(weight_of_key(&[1.0], 0, -0.5), -0.5);
    }
}
