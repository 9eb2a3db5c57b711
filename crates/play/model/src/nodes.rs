//! Nodes of the graph: several threads decrement their counters while their owner adds edges, cancels and
//! restarts them.

use crate::graph::JobGraph;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// The buffer of each node, which only its job accesses.
struct CountedJob {
    graph: JobGraph,
    started: [AtomicU32; 3],
    buffers: [loom::cell::UnsafeCell<u32>; 3],
}

impl CountedJob {
    fn new() -> Arc<CountedJob> {
        let work =
            CountedJob { graph: JobGraph::new(3), started: Default::default(), buffers: Default::default() };
        for node in 0..3 {
            work.graph.begin(node);
        }
        Arc::new(work)
    }

    /// Writes the node's buffer after reading those of the nodes before, and continues with its followers.
    fn run(&self, node: u32, well: bool) {
        self.started[node as usize].fetch_add(1, Ordering::Relaxed);
        let well = well && self.graph.is_wanted(node);
        if well {
            self.buffers[node as usize].with_mut(|_| ());
        }
        // One node starts at most two others here; a job that is started in a job stays on its thread.
        let mut next = [None; 3];
        self.graph.finish(node, well, |n| next[n as usize] = Some(n));
        for node in next.into_iter().flatten() {
            if self.graph.is_wanted(node) {
                self.buffers[0].with(|_| ());
                self.buffers[1].with(|_| ());
            }
            self.run(node, true);
        }
    }

    fn count(&self, node: usize) -> u32 {
        self.started[node].load(Ordering::Relaxed)
    }
}

#[test]
fn the_last_of_two_starts_the_third_once() {
    loom::model(|| {
        let work = CountedJob::new();
        work.graph.add_dependency(2, 0, 0);
        work.graph.add_dependency(2, 1, 1);
        assert!(work.graph.arm(0) && work.graph.arm(1) && !work.graph.arm(2));
        let other = work.clone();
        let thread = thread::spawn(move || other.run(0, true));
        work.run(1, true);
        thread.join().unwrap();
        assert_eq!(work.count(2), 1);
        assert!(work.graph.is_wanted(2));
    });
}

#[test]
fn edges_are_added_while_those_before_end() {
    loom::model(|| {
        let work = CountedJob::new();
        assert!(work.graph.arm(0));
        let other = work.clone();
        let thread = thread::spawn(move || other.run(0, true));
        work.graph.add_dependency(2, 0, 0);
        if work.graph.arm(2) {
            work.buffers[0].with(|_| ());
            work.run(2, true);
        }
        thread.join().unwrap();
        assert_eq!(work.count(2), 1);
        // A node that is done restarts, though another once was in its list.
        work.graph.begin(0);
        assert!(work.graph.arm(0) && work.graph.is_wanted(0));
    });
}

#[test]
fn a_failure_is_passed_on_whenever_the_edge_was_made() {
    loom::model(|| {
        let work = CountedJob::new();
        assert!(work.graph.arm(0));
        let other = work.clone();
        let thread = thread::spawn(move || other.run(0, false));
        work.graph.add_dependency(1, 0, 0);
        if work.graph.arm(1) {
            work.run(1, true);
        }
        thread.join().unwrap();
        assert_eq!(work.count(1), 1);
        assert!(!work.graph.is_wanted(1), "what it needs has failed");
    });
}

#[test]
fn cancelling_races_with_running_and_every_node_ends() {
    loom::model(|| {
        let work = CountedJob::new();
        work.graph.add_dependency(1, 0, 0);
        work.graph.add_dependency(2, 0, 1);
        assert!(work.graph.arm(0) && !work.graph.arm(1) && !work.graph.arm(2));
        let other = work.clone();
        let thread = thread::spawn(move || other.run(0, true));
        work.graph.cancel(1);
        thread.join().unwrap();
        assert_eq!([0, 1, 2].map(|n| work.count(n)), [1, 1, 1]);
        // A retired node restarts without any state from before.
        work.graph.begin(1);
        assert!(work.graph.arm(1) && work.graph.is_wanted(1));
    });
}
