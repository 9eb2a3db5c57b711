//! Sorting with small code for WebAssembly, where each sorted type would add 4 kB of code. There all types
//! share one sort of their indices; elsewhere the standard library's sorts are used.

use std::cmp::Ordering;

/// Lists up to this length are sorted by insertion, in place.
#[cfg(any(target_arch = "wasm32", test))]
const SHORT: usize = 16;

/// Sorts values whose equal elements are indistinguishable.
pub fn unstable<T: Ord + Copy>(list: &mut [T]) {
    #[cfg(not(target_arch = "wasm32"))]
    list.sort_unstable();
    #[cfg(target_arch = "wasm32")]
    shared(list, T::cmp);
}

/// Sorts by a key; elements with equal keys stay in order.
pub fn by_key<T: Copy, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    #[cfg(not(target_arch = "wasm32"))]
    list.sort_by_key(key);
    #[cfg(target_arch = "wasm32")]
    shared(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by a key that differs for all elements.
pub fn unstable_by_key<T: Copy, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    #[cfg(not(target_arch = "wasm32"))]
    list.sort_unstable_by_key(key);
    #[cfg(target_arch = "wasm32")]
    shared(list, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by an order in which no two elements are equal.
pub fn unstable_by<T: Copy>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    #[cfg(not(target_arch = "wasm32"))]
    list.sort_unstable_by(compare);
    #[cfg(target_arch = "wasm32")]
    shared(list, compare);
}

/// A stable sort of any type; only comparison and placement are compiled for each type.
#[cfg(any(target_arch = "wasm32", test))]
fn shared<T: Copy>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if list.len() <= SHORT {
        for end in 1..list.len() {
            let mut at = end;
            while at > 0 && compare(&list[at - 1], &list[at]) == Ordering::Greater {
                list.swap(at - 1, at);
                at -= 1;
            }
        }
        return;
    }
    let mut places: Vec<usize> = (0..list.len()).collect();
    sort_places(&mut places, &|a, b| compare(&list[a], &list[b]));
    let sorted: Vec<T> = places.iter().map(|place| list[*place]).collect();
    list.copy_from_slice(&sorted);
}

#[cfg(any(target_arch = "wasm32", test))]
#[inline(never)]
fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_by(|a, b| compare(*a, *b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_sort_is_stable_and_sorts_as_the_others_do() {
        for count in [0, 1, 2, 15, 16, 17, 100, 1000] {
            let list: Vec<(u32, u32)> = (0..count).map(|i| (i * 7919 % 13, i)).collect();
            let [mut own, mut stable, mut keyed, mut ordered] = [0; 4].map(|_| list.clone());
            stable.sort_by_key(|pair| pair.0);
            shared(&mut own, |a, b| a.0.cmp(&b.0));
            assert_eq!(own, stable);
            by_key(&mut keyed, |pair| pair.0);
            assert_eq!(keyed, stable);
            unstable_by(&mut ordered, |a, b| b.cmp(a));
            unstable(&mut own);
            assert!(own.iter().rev().eq(&ordered));
            unstable_by_key(&mut ordered, |pair| pair.1);
            assert_eq!(ordered, list);
        }
    }
}
