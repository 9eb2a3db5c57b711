//! Which kernels run on this machine, and the eight numbers side by side that most of them are written in:
//! f32, and f64.

pub(crate) mod doubles;
pub mod isa;
pub(crate) mod lanes;
pub(crate) mod quads;

use lanes::{Lanes, Task};

/// Work of other crates that is compiled for each instruction set as it stands: loops over a few numbers side
/// by side become vectors as wide as the machine has. Everything in it must be inlined; the result is the same
/// with each.
pub trait Work {
    /// Does it.
    fn run(self);
}

struct Compiled<W>(W);

impl<W: Work> Task for Compiled<W> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        self.0.run();
    }
}

/// Runs work with the instruction set of this machine.
pub fn run(work: impl Work) {
    lanes::run(isa::Isa::get(), Compiled(work));
}
