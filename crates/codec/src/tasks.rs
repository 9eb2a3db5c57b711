//! Parts of an encoder's work that may be done in parallel. This crate has no threads: the caller runs them.

use std::sync::{Mutex, PoisonError};

/// Calls a task with each number below a count, once, in any order; returns when all are done.
pub type RunTasks = fn(usize, &(dyn Fn(usize) + Sync));

/// The threads of an encoder's caller. The encoder's output does not depend on them.
#[derive(Debug, Clone, Copy)]
pub struct TaskRunner {
    threads: usize,
    run: RunTasks,
}

impl Default for TaskRunner {
    /// Does one task after the other.
    fn default() -> TaskRunner {
        TaskRunner::new(1, |count, task| (0..count).for_each(task))
    }
}

impl TaskRunner {
    /// Creates a runner with this many threads.
    pub fn new(threads: usize, run: RunTasks) -> TaskRunner {
        TaskRunner { threads: threads.max(1), run }
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the result of a task for each item, in the order of the items.
    pub fn map<T: Sync, R: Send>(&self, items: &[T], task: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
        (self.run)(items.len(), &|i| {
            let result = task(&items[i]);
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        results.into_iter().filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        let backwards = TaskRunner::new(2, |count, task| (0..count).rev().for_each(task));
        let items: Vec<usize> = (0..9).collect();
        for runner in [TaskRunner::default(), backwards] {
            assert_eq!(runner.map(&items, |i| 2 * i), (0..9).map(|i| 2 * i).collect::<Vec<_>>());
        }
    }
}
