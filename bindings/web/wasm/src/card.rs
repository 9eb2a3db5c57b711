//! A file on a graphics card: steps for the page's device instead of vertex values.

use crate::steps::{Step, StepTypes, Steps};
use meshreel::raw::record::Description;
use meshreel::{
    Error, InstanceId, Limits, Player, ShownFrames, VertexAttribute, VertexChannel, VertexFormat,
};
use meshreel_gpu::card::{Budget, BufferRange, CardOutput, CardReel, CreatePipelines, FrameSource};
use meshreel_gpu::{VertexLayout, heuristics};

/// The options for a file on a card, from the input of `Session::card`.
pub(crate) struct CardOptions {
    layout: VertexLayout,
    budget: Budget,
    /// Whether the card decodes units: 0 no, 1 if that saves time, otherwise yes.
    units: u32,
    /// Bytes of frames that one update uploads ahead of time.
    ahead: u64,
    /// Indices are output as values, too.
    indices: bool,
}

/// A file on a card.
pub(crate) struct CardFile {
    options: CardOptions,
    steps: Steps,
    reel: Option<CardReel<StepTypes>>,
    outputs: Vec<(usize, CardOutput<StepTypes>)>,
    /// The last locations of vertices that were sent to the page: the numbers of [`Step::Vertices`] by
    /// instance and mesh.
    sent_vertices: Vec<(usize, Vec<[usize; 9]>)>,
}

/// Bytes of units that one update uploads for coming frames.
const UNITS_AHEAD: u64 = 64 << 10;

/// Returns an attribute from the numbers of its channel and format in `src/webgpu.js`, and its offset.
fn attribute([what, format, offset]: [u32; 3]) -> Option<VertexAttribute> {
    let what = match what {
        0 => VertexChannel::Position,
        1 => VertexChannel::Normal,
        2 => VertexChannel::Tangent,
        3 => VertexChannel::Uv(0),
        4 => VertexChannel::Colour(0),
        5 => VertexChannel::Velocity,
        _ => return None,
    };
    let formats = [
        VertexFormat::F32x2,
        VertexFormat::F32x3,
        VertexFormat::F32x4,
        VertexFormat::F16x2,
        VertexFormat::F16x4,
        VertexFormat::U8x4,
        VertexFormat::U16x4,
        VertexFormat::I16x2,
        VertexFormat::I16x4,
    ];
    Some(VertexAttribute { channel: what, format: *formats.get(format as usize)?, offset: offset as usize })
}

impl CardOptions {
    /// Reads options from words: bytes of the ring; flags (1: keep the vertices of the previous update, 2:
    /// output indices as values); whether the card decodes units; bytes ahead; bytes of a vertex; and three
    /// words for each attribute. An impossible vertex layout is misuse.
    pub fn read(bytes: &[u8]) -> Result<CardOptions, Error> {
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let no_words = || Error::misuse("the layout of vertices is not complete");
        let (head, attributes) = words.split_at_checked(5).ok_or_else(no_words)?;
        let attributes = attributes.as_chunks().0.iter().map(|words| attribute(*words));
        let attributes = attributes.collect::<Option<Vec<_>>>().ok_or_else(no_words)?;
        let layout = VertexLayout { stride: head[4] as usize, attributes };
        layout.check()?;
        if layout.is_pulled() {
            return Err(Error::misuse("a vertex has at least one attribute"));
        }
        let budget = Budget::default().with_ring(head[0].into()).with_previous(head[1] & 1 != 0);
        let (units, ahead, indices) = (head[2], head[3].into(), head[1] & 2 != 0);
        Ok(CardOptions { layout, budget, units, ahead, indices })
    }
}

impl CardFile {
    pub fn new(wanted: CardOptions, most: u64, group: u32) -> CardFile {
        CardFile {
            options: wanted,
            steps: Steps::new(most, group),
            reel: None,
            outputs: Vec::new(),
            sent_vertices: Vec::new(),
        }
    }

    /// Starts over on another device, which has none of the file's buffers yet.
    pub fn renew(&mut self, most: u64, group: u32) {
        self.outputs.clear();
        self.sent_vertices.clear();
        self.reel = None;
        self.steps = Steps::new(most, group);
    }

    /// Whether indices are output as values.
    pub fn gives_indices(&self) -> bool {
        self.options.indices
    }

    /// Returns the limits to open its file with.
    pub fn limits(&self, description: &Description, limits: Limits) -> Limits {
        let heuristic = heuristics::limits(description, limits);
        match self.options.units {
            0 => heuristic.with_points(true),
            1 => heuristic,
            _ => heuristic.with_points(false),
        }
    }

    /// Writes the steps that show the current frames of these instances. Returns the number of their meshes
    /// that keep showing an older frame because their points are not decoded yet. After an error everything
    /// starts over, as the page has not carried out the steps.
    pub fn update(&mut self, player: &Player, instances: &[(usize, InstanceId)]) -> Result<u32, Error> {
        self.steps.out.0.clear();
        let done = self.try_update(player, instances);
        if done.is_err() {
            self.renew(self.steps.max_binding_bytes(), self.steps.workgroup_size());
        }
        done
    }

    fn try_update(&mut self, player: &Player, instances: &[(usize, InstanceId)]) -> Result<u32, Error> {
        self.outputs.retain(|(number, _)| instances.iter().any(|(other, _)| other == number));
        self.sent_vertices.retain(|(number, _)| instances.iter().any(|(other, _)| other == number));
        let shown = instances.iter().filter_map(|(number, id)| Some((*number, *id, player.frame(*id)?)));
        let shown: Vec<(usize, InstanceId, ShownFrames)> = shown.collect();
        let Some((.., first)) = shown.first() else { return Ok(0) };
        let reel = match &mut self.reel {
            Some(reel) => reel,
            None => {
                let layout = self.options.layout.clone();
                let reel = CardReel::create(&mut self.steps, first, layout, self.options.budget)?;
                write_levels(&reel, first, &mut self.steps);
                self.reel.insert(reel)
            }
        };
        for (number, id, _) in &shown {
            if !self.outputs.iter().any(|(other, _)| other == number) {
                self.outputs.push((*number, reel.output_on(&mut self.steps)));
            }
            reel.decode_with(&mut self.steps, (player, *id), UNITS_AHEAD)?;
        }
        let find = |number: usize| shown.iter().find(|(other, ..)| *other == number);
        let outputs = self.outputs.iter_mut();
        let mut all: Vec<(&mut CardOutput<StepTypes>, &dyn FrameSource)> = outputs
            .filter_map(|(number, output)| Some((output, &find(*number)?.2 as &dyn FrameSource)))
            .collect();
        let done = reel.update_with(&mut self.steps, &mut all)?;
        for (_, id, _) in &shown {
            reel.prepare_with(&mut self.steps, player.upcoming_frames(*id), self.options.ahead)?;
        }
        let meshes = first.reel().description().meshes.len();
        self.write_changed_vertices(meshes);
        self.steps.drop_unused();
        Ok(done.late)
    }

    /// Returns the steps of the last update.
    pub fn steps(&self) -> &[u8] {
        &self.steps.out.0
    }

    /// Writes the locations of vertices that have changed.
    fn write_changed_vertices(&mut self, meshes: usize) {
        for (number, output) in &self.outputs {
            let at = self.sent_vertices.iter().position(|(other, _)| other == number);
            let at = at.unwrap_or_else(|| {
                self.sent_vertices.push((*number, vec![[usize::MAX; 9]; meshes]));
                self.sent_vertices.len() - 1
            });
            for (mesh, told) in self.sent_vertices[at].1.iter_mut().enumerate() {
                let BufferRange { buffer, bytes } = output.vertices_of(mesh);
                let before = output.previous_vertices_of(mesh);
                let now = [
                    *number,
                    mesh,
                    buffer.number(),
                    bytes.start as usize,
                    before.bytes.start as usize,
                    (bytes.end - bytes.start) as usize,
                    output.vertex_count(mesh) as usize,
                    output.indices(mesh).number(),
                    output.index_count(mesh) as usize,
                ];
                if *told != now {
                    self.steps.step(Step::Vertices, &now);
                    *told = now;
                }
            }
        }
    }
}

/// Writes the index ranges of the LOD levels.
fn write_levels(reel: &CardReel<StepTypes>, shown: &ShownFrames, steps: &mut Steps) {
    for mesh in 0..shown.reel().description().meshes.len() {
        let mut levels: Vec<[usize; 2]> = Vec::new();
        for level in 0.. {
            // Beyond the last level, the range of the last level is returned.
            let Some(range) = reel.lod_range(mesh, level) else { break };
            let own = [range.start as usize, range.len()];
            if level > 0 && levels.last() == Some(&own) {
                break;
            }
            levels.push(own);
        }
        steps.step(Step::LodLevels, &[mesh, levels.len()]);
        levels.iter().flatten().for_each(|number| steps.out.u32(*number));
    }
}
