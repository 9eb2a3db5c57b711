//! Steps for a graphics device as bytes: whole words of 32 bits, little-endian. `src/steps.js` carries them
//! out.
//!
//! ```text
//! 1 buffer     number  usage  bytes  text                     6 write      buffer  offset  bytes  the bytes
//! 2 layout     number  vertex  count  count × kind            7 pass       text
//! 3 module     number  layout  text                           8 dispatch   pipeline  bindings  count  offsets  x  y
//! 4 pipeline   number  module  text  count × (text  f64)      9 end of the pass
//! 5 bindings   number  layout  count × (buffer  bytes)       10 drop       buffer or bindings  number
//! 11 vertices  instance  mesh  buffer  offset  previous offset  bytes  count  index buffer  index count
//! 12 levels    mesh  count × (first index  count)
//! ```
//!
//! A text is its number of bytes, and these, padded to whole words.

use crate::writer::Writer;
use meshreel_gpu::card::{self, BindingLayout, BufferUsage, ComputePass, ShaderProgram};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Copy)]
pub(crate) enum Step {
    Buffer = 1,
    Layout = 2,
    Module = 3,
    Pipeline = 4,
    Bindings = 5,
    Write = 6,
    Pass = 7,
    Dispatch = 8,
    End = 9,
    Drop = 10,
    Vertices = 11,
    LodLevels = 12,
}

/// An object of the page, by number; the page drops it when no handle is left.
pub(crate) struct Handle {
    number: usize,
    kind: Step,
    dropped: Rc<RefCell<Vec<(Step, usize)>>>,
}

impl Handle {
    pub fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.dropped.borrow_mut().push((self.kind, self.number));
    }
}

/// The types of objects in a list of steps.
pub(crate) struct StepTypes;

impl card::CardTypes for StepTypes {
    type Buffer = Rc<Handle>;
    type Bindings = Rc<Handle>;
    type Pipeline = usize;
}

/// Pipelines are equal if module, entry point and constants are.
type PipelineKey = (ShaderProgram, &'static str, Vec<(&'static str, u64)>);

/// The steps for one device, in order.
pub(crate) struct Steps {
    /// Steps that have not been fetched yet.
    pub out: Writer,
    /// Bytes of the largest binding; `group` is the number of invocations per workgroup.
    most: u64,
    group: u32,
    next: usize,
    dropped: Rc<RefCell<Vec<(Step, usize)>>>,
    layouts: Vec<BindingLayout>,
    modules: Vec<ShaderProgram>,
    pipelines: Vec<PipelineKey>,
}

impl Steps {
    pub fn new(most: u64, group: u32) -> Steps {
        Steps {
            out: Writer::default(),
            most,
            group,
            next: 0,
            dropped: Rc::default(),
            layouts: Vec::new(),
            modules: Vec::new(),
            pipelines: Vec::new(),
        }
    }

    /// Writes a step and its numbers.
    pub fn step(&mut self, step: Step, numbers: &[usize]) {
        self.out.u32(step as usize);
        numbers.iter().for_each(|number| self.out.u32(*number));
    }

    fn text(&mut self, text: &str) {
        self.out.text(text);
        self.out.0.resize(self.out.0.len().next_multiple_of(4), 0);
    }

    fn handle(&mut self, kind: Step) -> Rc<Handle> {
        self.next += 1;
        Rc::new(Handle { number: self.next, kind, dropped: self.dropped.clone() })
    }

    /// Writes the steps that drop unused objects.
    pub fn drop_unused(&mut self) {
        let dropped = self.dropped.take();
        for (kind, number) in dropped {
            self.step(Step::Drop, &[kind as usize, number]);
        }
    }

    /// Returns the position of an item in a list, and whether it was added now.
    fn find_or_push<I: PartialEq>(list: &mut Vec<I>, item: I) -> (usize, bool) {
        match list.iter().position(|other| *other == item) {
            Some(at) => (at, false),
            None => {
                list.push(item);
                (list.len() - 1, true)
            }
        }
    }

    /// Returns the number of a layout; the first time, the step that creates it is written.
    fn layout(&mut self, which: BindingLayout) -> usize {
        let (at, new) = Steps::find_or_push(&mut self.layouts, which);
        if new {
            let kinds = which.kinds();
            self.step(Step::Layout, &[at, usize::from(which == BindingLayout::Pulled), kinds.len()]);
            kinds.iter().for_each(|kind| self.out.u32(*kind as usize));
        }
        at
    }

    fn module(&mut self, program: ShaderProgram) -> usize {
        let layout = self.layout(program.layout());
        let (at, new) = Steps::find_or_push(&mut self.modules, program);
        if new {
            self.step(Step::Module, &[at, layout]);
            self.text(&program.wgsl());
        }
        at
    }
}

impl card::WriteBuffers<StepTypes> for Steps {
    fn write(&mut self, buffer: &Rc<Handle>, offset: u64, bytes: &[u8]) {
        self.step(Step::Write, &[buffer.number, offset as usize, bytes.len()]);
        self.out.0.extend_from_slice(bytes);
    }
}

impl card::CreateResources<StepTypes> for Steps {
    fn buffer(&mut self, label: &'static str, bytes: u64, usage: BufferUsage) -> Rc<Handle> {
        let handle = self.handle(Step::Buffer);
        self.step(Step::Buffer, &[handle.number, usage as usize, bytes as usize]);
        self.text(label);
        handle
    }

    fn bind(&mut self, layout: BindingLayout, buffers: &[(&Rc<Handle>, usize)]) -> Rc<Handle> {
        let layout = self.layout(layout);
        let handle = self.handle(Step::Bindings);
        self.step(Step::Bindings, &[handle.number, layout, buffers.len()]);
        for (buffer, bytes) in buffers {
            self.out.u32(buffer.number);
            self.out.u32(*bytes);
        }
        handle
    }
}

impl card::CreatePipelines<StepTypes> for Steps {
    fn max_binding_bytes(&self) -> u64 {
        self.most
    }

    fn workgroup_size(&self) -> u32 {
        self.group
    }

    fn pipeline(
        &mut self,
        program: ShaderProgram,
        entry: &'static str,
        constants: &[(&'static str, f64)],
    ) -> usize {
        let module = self.module(program);
        let bits = constants.iter().map(|(name, value)| (*name, value.to_bits())).collect();
        let (at, new) = Steps::find_or_push(&mut self.pipelines, (program, entry, bits));
        if new {
            self.step(Step::Pipeline, &[at, module]);
            self.text(entry);
            self.out.u32(constants.len());
            for (name, value) in constants {
                self.text(name);
                self.out.f64(*value);
            }
        }
        at
    }
}

impl card::RecordPasses<StepTypes> for Steps {
    fn pass(&mut self, label: &'static str, fill: &mut dyn FnMut(&mut dyn ComputePass<StepTypes>)) {
        self.step(Step::Pass, &[]);
        self.text(label);
        fill(self);
        self.step(Step::End, &[]);
    }
}

impl ComputePass<StepTypes> for Steps {
    fn dispatch(&mut self, pipeline: &usize, bindings: &Rc<Handle>, offsets: &[u32], [x, y]: [u32; 2]) {
        self.step(Step::Dispatch, &[*pipeline, bindings.number, offsets.len()]);
        offsets.iter().for_each(|offset| self.out.u32(*offset as usize));
        self.out.u32(x as usize);
        self.out.u32(y as usize);
    }
}
