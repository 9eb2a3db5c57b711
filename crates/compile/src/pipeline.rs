//! Parallel work with results in order: jobs run on the pool's threads, a shelf keeps finished results until
//! their turn comes, and the producer stalls while the shelf's window is full, so that memory is bounded by
//! the window and not by the length of the animation.

use crate::Error;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Returns a pool of `jobs` threads; 0 stands for all cores.
pub(crate) fn pool(jobs: usize) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|e| Error::misuse(format!("--jobs {jobs}: {e}")))
}

struct State<T, E> {
    /// Index of the result that is handed on next.
    next: usize,
    finished: BTreeMap<usize, Result<T, E>>,
    /// The total number of jobs, once it is known.
    total: Option<usize>,
    stop: bool,
}

struct Shelf<T, E> {
    state: Mutex<State<T, E>>,
    changed: Condvar,
}

impl<T, E> Shelf<T, E> {
    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn change(&self, f: impl FnOnce(&mut State<T, E>)) {
        f(&mut self.lock());
        self.changed.notify_all();
    }
    fn wait_until(&self, ready: impl Fn(&State<T, E>) -> bool) -> MutexGuard<'_, State<T, E>> {
        let mut state = self.lock();
        while !ready(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

/// Stops everything when its job ends without a result, that is by a panic, which the pool then passes on.
struct Guard<'a, T, E>(&'a Shelf<T, E>, bool);

impl<T, E> Drop for Guard<'_, T, E> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.change(|state| state.stop = true);
        }
    }
}

/// Takes inputs from `produce` (called on this thread, `None` = no more), runs `work` on `pool`, and gives
/// the results to `consume` in input order on a thread of its own. At most `window` inputs are between being
/// produced and consumed. The first error in input order is returned.
pub fn run_in_order<I: Send, T: Send, E: Send>(
    pool: &rayon::ThreadPool,
    window: usize,
    mut produce: impl FnMut() -> Result<Option<I>, E>,
    work: impl Fn(I) -> Result<T, E> + Sync,
    mut consume: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let shelf: Shelf<T, E> = Shelf {
        state: Mutex::new(State { next: 0, finished: BTreeMap::new(), total: None, stop: false }),
        changed: Condvar::new(),
    };
    let (shelf, work) = (&shelf, &work);
    std::thread::scope(|threads| {
        let consumer = threads.spawn(move || {
            loop {
                let mut state = shelf
                    .wait_until(|s| s.stop || s.finished.contains_key(&s.next) || s.total == Some(s.next));
                let next = state.next;
                let Some(result) = state.finished.remove(&next) else {
                    return Ok(());
                };
                drop(state);
                match result.and_then(&mut consume) {
                    Ok(()) => shelf.change(|state| state.next += 1),
                    Err(error) => {
                        shelf.change(|state| state.stop = true);
                        return Err(error);
                    }
                }
            }
        });
        let produced = pool.in_place_scope(|jobs| {
            let mut number = 0;
            let end = loop {
                if shelf.wait_until(|s| s.stop || number < s.next + window.max(1)).stop {
                    break Ok(());
                }
                match produce() {
                    Ok(Some(input)) => {
                        jobs.spawn(move |_| {
                            let mut guard = Guard(shelf, false);
                            let result = work(input);
                            guard.1 = true;
                            shelf.change(|state| drop(state.finished.insert(number, result)));
                        });
                        number += 1;
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            shelf.change(|state| state.total = Some(number));
            end
        });
        let consumed = match consumer.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        consumed.and(produced)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pool() -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap()
    }

    #[test]
    fn order_is_kept_and_the_window_holds() {
        let (mut n, flying, most, mut seen) = (0, AtomicUsize::new(0), AtomicUsize::new(0), Vec::new());
        run_in_order::<usize, usize, ()>(
            &pool(),
            4,
            || {
                n += 1;
                most.fetch_max(flying.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                Ok((n <= 100).then_some(n))
            },
            |i| {
                std::thread::sleep(std::time::Duration::from_micros((i * 7919 % 13) as u64 * 50));
                Ok(i)
            },
            |i| {
                flying.fetch_sub(1, Ordering::SeqCst);
                seen.push(i);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, (1..=100).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= 5);
    }

    #[test]
    fn the_first_error_in_order_wins_and_nothing_hangs() {
        let mut n = 0;
        let result = run_in_order::<usize, usize, usize>(
            &pool(),
            4,
            || {
                n += 1;
                Ok(Some(n))
            },
            |i| if i == 7 || i == 8 { Err(i) } else { Ok(i) },
            |_| Ok(()),
        );
        assert_eq!(result, Err(7));
        let mut n = 0;
        let produced = run_in_order::<usize, usize, usize>(
            &pool(),
            2,
            || {
                n += 1;
                if n == 5 { Err(50) } else { Ok(Some(n)) }
            },
            Ok,
            |_| Ok(()),
        );
        assert_eq!(produced, Err(50));
        assert_eq!(run_in_order::<usize, usize, usize>(&pool(), 2, || Ok(Some(1)), Ok, |_| Err(9)), Err(9));
    }

    #[test]
    fn a_panic_is_passed_on() {
        let mut n = 0;
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_in_order::<usize, usize, ()>(
                &pool(),
                2,
                || {
                    n += 1;
                    Ok((n < 10).then_some(n))
                },
                |i| if i == 3 { panic!("job") } else { Ok(i) },
                |_| Ok(()),
            )
        }));
        assert!(result.is_err());
    }
}
