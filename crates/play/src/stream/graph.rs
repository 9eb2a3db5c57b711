//! The dependency graph of work in flight: every read and every unit being decoded is a node with a counter
//! of the nodes that it waits for. A node that is done decrements the counters of its followers, on the
//! thread that did its work, and starts those that reach zero. So a group decodes by itself once its read has
//! arrived, and groups run in parallel.
//!
//! ```text
//! owner:    begin(n)   waits = 1, no followers          (the 1 is the owner's own: nothing starts before it is armed)
//!           add_dependency(n, i, p)   waits += 1; p's list += edge; taken back where p is done already
//!           arm(n)     waits −= 1; zero: start
//! any:      finish(p)  list := closed; for each follower: waits −= 1; zero: start
//! ```
//!
//! The source system counts 1 for an index frame, 3 for the first frame after one and 2 for the others. Here
//! the counter is the number of nodes that a unit really waits for, so the same graph serves any scheme. A
//! failed or cancelled node is propagated: its followers are started too, and only propagate it again. So
//! every node that was armed ends, and its buffers are not touched before that. Lists are links in fixed
//! arrays: nothing is allocated.

use super::sync::{AtomicU32, Ordering};

/// The largest number of nodes that one can wait for.
pub(crate) const MAX_DEPENDENCIES: usize = 20;
const NO_EDGE: u32 = u32::MAX;
const CLOSED: u32 = u32::MAX - 1;

const CANCELLED: u32 = 1;
const FAILED: u32 = 2;

pub(crate) struct JobGraph {
    nodes: Box<[Node]>,
}

struct Node {
    waits: AtomicU32,
    /// The first edge to a follower, `NO_EDGE`, or `CLOSED` when the node is done.
    followers: AtomicU32,
    flags: AtomicU32,
    /// The list links of this node's edges: edge `n · MAX_DEPENDENCIES + i` is in the list of the node that
    /// `n` waits for as its i-th; this is the edge after it there.
    next: [AtomicU32; MAX_DEPENDENCIES],
}

impl JobGraph {
    pub fn new(nodes: usize) -> JobGraph {
        let node = |_| Node {
            waits: AtomicU32::new(0),
            followers: AtomicU32::new(CLOSED),
            flags: AtomicU32::new(0),
            next: std::array::from_fn(|_| AtomicU32::new(NO_EDGE)),
        };
        JobGraph { nodes: (0..nodes).map(node).collect() }
    }

    fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Resets a node that is done, or was never used. For its owner.
    pub fn begin(&self, node: u32) {
        let node = self.node(node);
        node.waits.store(1, Ordering::Relaxed);
        node.flags.store(0, Ordering::Relaxed);
        node.followers.store(NO_EDGE, Ordering::Release);
    }

    /// Makes `node`, begun and not armed, wait for `on` with its edge `edge`. For its owner.
    pub fn add_dependency(&self, node: u32, edge: usize, on: u32) {
        debug_assert!(edge < MAX_DEPENDENCIES && node != on);
        let (number, follower) = (node * MAX_DEPENDENCIES as u32 + edge as u32, self.node(node));
        let leader = self.node(on);
        follower.waits.fetch_add(1, Ordering::Relaxed);
        let mut first = leader.followers.load(Ordering::Acquire);
        loop {
            if first == CLOSED {
                follower.waits.fetch_sub(1, Ordering::Relaxed);
                let bad = leader.flags.load(Ordering::Relaxed);
                if bad != 0 {
                    follower.flags.fetch_or(FAILED, Ordering::Relaxed);
                }
                return;
            }
            follower.next[edge].store(first, Ordering::Relaxed);
            match (leader.followers).compare_exchange_weak(first, number, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Declares that all dependencies are known. `true` if they are done already, and the node must be
    /// started.
    #[must_use]
    pub fn arm(&self, node: u32) -> bool {
        self.node(node).waits.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Cancels a node: it does nothing when its turn comes.
    pub fn cancel(&self, node: u32) {
        self.node(node).flags.fetch_or(CANCELLED, Ordering::Relaxed);
    }

    /// `true` if the node should do its work: it is not cancelled, and nothing that it needs has failed.
    pub fn is_wanted(&self, node: u32) -> bool {
        self.node(node).flags.load(Ordering::Relaxed) == 0
    }

    /// Marks a node as done, successfully or not, and calls `start` with the nodes to start. Called once for
    /// each node begun, by the thread that did its work.
    pub fn finish(&self, node: u32, well: bool, mut start: impl FnMut(u32)) {
        let node = self.node(node);
        if !well {
            node.flags.fetch_or(FAILED, Ordering::Relaxed);
        }
        let mut edge = node.followers.swap(CLOSED, Ordering::AcqRel);
        while edge != NO_EDGE {
            let (number, i) = (edge / MAX_DEPENDENCIES as u32, edge as usize % MAX_DEPENDENCIES);
            let follower = self.node(number);
            // Read before the counter is decremented: from then on the node may be done and reused.
            edge = follower.next[i].load(Ordering::Relaxed);
            if !well {
                follower.flags.fetch_or(FAILED, Ordering::Relaxed);
            }
            if follower.waits.fetch_sub(1, Ordering::AcqRel) == 1 {
                start(number);
            }
        }
    }
}
