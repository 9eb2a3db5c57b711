//! Values derived from options.

use crate::choices::Preset;
use crate::table::Options;
use meshreel_scene::Remark;
use meshreel_scene::sample::FrameOptions;

impl Options {
    /// Returns the distance in frames from one index frame or restart key to the next.
    pub fn index_every(&self) -> usize {
        let usual = if self.preset == Preset::Classic { 16 } else { 64 };
        self.index_every.unwrap_or(usual)
    }

    /// Returns the number of key frames, in a file in temporal layers, from one restart to the next.
    pub fn restart(&self) -> u32 {
        (self.index_every() / 16).max(1) as u32
    }

    /// Returns the options that decide the frame times.
    pub fn frame_options(&self) -> FrameOptions {
        FrameOptions { channels: self.channels, fps: self.fps, range: self.range }
    }

    /// Returns remarks on options without effect, for a scene with clips and no mesh.
    pub fn ineffective_option_remarks(&self) -> impl Iterator<Item = Remark> {
        let flags = [
            (self.lod > 0, "--lod"),
            (self.cull_hidden, "--cull-hidden"),
            (self.attributes_apart, "--attributes-apart"),
        ];
        let used = flags.into_iter().filter(|(used, _)| *used);
        used.map(|(_, flag)| {
            let what = format!("{flag} does nothing: there are clips and no mesh");
            Remark::new("", what)
        })
    }
}
