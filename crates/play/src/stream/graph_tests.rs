//! Tests of the graph on one thread; `crates/play/model` has those on several.

use crate::stream::graph::*;

fn finish(graph: &JobGraph, node: u32, well: bool) -> Vec<u32> {
    let mut started = Vec::new();
    graph.finish(node, well, |n| started.push(n));
    started
}

#[test]
fn the_last_wait_starts_a_node() {
    // 0 and 1: index frames; 2 needs both and its read 3; 4 needs 2.
    let graph = JobGraph::new(5);
    for node in 0..5 {
        graph.begin(node);
    }
    for (edge, on) in [0, 1, 3].into_iter().enumerate() {
        graph.add_dependency(2, edge, on);
    }
    graph.add_dependency(4, 0, 2);
    assert!(graph.arm(0) && graph.arm(1) && graph.arm(3));
    assert!(!graph.arm(2) && !graph.arm(4));
    assert_eq!(finish(&graph, 0, true), []);
    assert_eq!(finish(&graph, 3, true), []);
    assert_eq!(finish(&graph, 1, true), [2]);
    assert_eq!(finish(&graph, 2, true), [4]);
    assert!(graph.is_wanted(4));
    assert_eq!(finish(&graph, 4, true), []);
    // A node that is done already is not waited for.
    graph.begin(0);
    graph.add_dependency(0, 0, 4);
    assert!(graph.arm(0) && graph.is_wanted(0));
}

#[test]
fn failure_and_cancelling_pass_on_and_a_new_start_forgets_them() {
    let graph = JobGraph::new(3);
    for node in 0..3 {
        graph.begin(node);
    }
    graph.add_dependency(1, 0, 0);
    graph.add_dependency(2, 0, 1);
    assert!(graph.arm(0) && !graph.arm(1) && !graph.arm(2));
    graph.cancel(0);
    assert!(!graph.is_wanted(0));
    assert_eq!(finish(&graph, 0, false), [1]);
    assert!(!graph.is_wanted(1));
    assert_eq!(finish(&graph, 1, false), [2]);
    assert!(!graph.is_wanted(2));
    // Following a failed node fails as well.
    graph.begin(0);
    graph.add_dependency(0, 0, 1);
    assert!(graph.arm(0) && !graph.is_wanted(0));
    assert_eq!(finish(&graph, 2, false), []);
    graph.begin(1);
    assert!(graph.arm(1) && graph.is_wanted(1));
}
