//! The instruction set of this machine, and the vectors from which most kernels are built: eight f32 or f64
//! side by side.

pub(crate) mod doubles;
pub mod isa;
pub(crate) mod lanes;
pub(crate) mod quads;

use lanes::{Lanes, Task};

/// Work of other crates that is compiled for each instruction set: loops over a few adjacent numbers become
/// vectors as wide as the machine has. Everything in it must be inlined; the result is the same for each
/// instruction set.
pub trait VectorizedLoop {
    /// Does the work.
    fn run(self);
}

struct Compiled<W>(W);

impl<W: VectorizedLoop> Task for Compiled<W> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        self.0.run();
    }
}

/// Runs work with the instruction set of this machine.
pub fn run(work: impl VectorizedLoop) {
    lanes::run(isa::Isa::get(), Compiled(work));
}
