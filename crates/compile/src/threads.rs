//! The threads of a compile.

use crate::Error;
use meshreel_codec::tasks::TaskRunner;
use rayon::prelude::*;

/// Returns a pool of `jobs` threads; 0 stands for all cores.
pub(crate) fn pool(jobs: usize) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    pool.map_err(|e| Error::misuse(format!("--jobs {jobs}: {e}")))
}

/// Returns what runs the tasks of an encoder on the threads of the current pool.
pub(crate) fn task_runner() -> TaskRunner {
    TaskRunner::new(rayon::current_num_threads(), |count, task| (0..count).into_par_iter().for_each(task))
}

/// Codes inputs in parallel, `batch` at a time, and hands the results to `consume` in their order, while the
/// next batch is coded. `read` returns the inputs, and `None` after the last one. At most two batches are in
/// memory. The first error in the order of the inputs is returned.
pub(crate) fn code_in_order<I: Send, T: Send, E: Send>(
    batch: usize,
    mut read: impl FnMut() -> Result<Option<I>, E> + Send,
    code: impl Fn(I) -> Result<T, E> + Sync,
    mut consume: impl FnMut(T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let mut coded: Vec<Result<T, E>> = Vec::new();
    loop {
        let consumed = || coded.into_iter().try_for_each(|result| result.and_then(&mut consume));
        let next = || {
            let mut failed = None;
            let inputs = std::iter::from_fn(|| {
                read().unwrap_or_else(|error| {
                    failed = Some(error);
                    None
                })
            });
            let inputs: Vec<I> = inputs.take(batch.max(1)).collect();
            let mut next: Vec<Result<T, E>> = inputs.into_par_iter().map(&code).collect();
            next.extend(failed.map(Err));
            next
        };
        let (done, next) = rayon::join(consumed, next);
        done?;
        if next.is_empty() {
            return Ok(());
        }
        coded = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Codes the numbers up to `count` on three threads, four at a time.
    fn run(
        count: usize,
        code: impl Fn(usize) -> Result<usize, usize> + Sync + Send,
        consume: impl FnMut(usize) -> Result<(), usize> + Send,
    ) -> Result<(), usize> {
        let mut n = 0;
        let read = || {
            n += 1;
            if n == 5000 { Err(n) } else { Ok((n <= count).then_some(n)) }
        };
        pool(3).unwrap().install(|| code_in_order(4, read, code, consume))
    }

    #[test]
    fn order_is_kept_and_memory_is_bounded() {
        let (flying, most, mut seen) = (AtomicUsize::new(0), AtomicUsize::new(0), Vec::new());
        let code = |i| {
            most.fetch_max(flying.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_micros((i * 7919 % 13) as u64 * 50));
            Ok(i)
        };
        run(100, code, |i| {
            flying.fetch_sub(1, Ordering::SeqCst);
            seen.push(i);
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, (1..=100).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= 8);
    }

    #[test]
    fn the_first_error_in_order_wins_and_nothing_hangs() {
        let refuse = |i| if i == 7 || i == 8 { Err(i) } else { Ok(i) };
        assert_eq!(run(100, refuse, |_| Ok(())), Err(7));
        assert_eq!(run(usize::MAX, Ok, |_| Ok(())), Err(5000));
        assert_eq!(run(100, Ok, |_| Err(9)), Err(9));
    }

    #[test]
    fn a_panic_is_passed_on() {
        let fail = |i| if i == 3 { panic!("job") } else { Ok(i) };
        let result = std::panic::catch_unwind(|| run(10, fail, |_| Ok(())));
        assert!(result.is_err());
    }
}
