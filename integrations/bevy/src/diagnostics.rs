//! Diagnostics of the player, beside Bevy's own.

use crate::runtime::ReelRuntime;
use bevy::diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy::prelude::*;
use meshreel::stream::Statistics;

/// Adds diagnostics of [`ReelRuntime`]; see Bevy's `LogDiagnosticsPlugin` and `DiagnosticsStore`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReelDiagnosticsPlugin;

impl ReelDiagnosticsPlugin {
    /// The number of instances.
    pub const INSTANCES: DiagnosticPath = DiagnosticPath::const_new("meshreel/instances");
    /// Bytes of the heap that are wanted or in use.
    pub const HEAP_HELD: DiagnosticPath = DiagnosticPath::const_new("meshreel/heap_held");
    /// Milliseconds that all threads have decoded since the frame before.
    pub const DECODE_TIME: DiagnosticPath = DiagnosticPath::const_new("meshreel/decode_time");
    /// The number of frames that were decoded since the frame before.
    pub const DECODED: DiagnosticPath = DiagnosticPath::const_new("meshreel/decoded");
    /// The number of instances that lacked the frame that they should show.
    pub const MISSED: DiagnosticPath = DiagnosticPath::const_new("meshreel/missed");

    fn measure(
        mut diagnostics: Diagnostics,
        runtime: Option<Res<ReelRuntime>>,
        mut statistics: Local<Statistics>,
        mut before: Local<[f64; 3]>,
    ) {
        let Some(runtime) = runtime else { return };
        runtime.player().statistics(&mut statistics);
        let sum = |of: fn(&meshreel::stream::StreamStatistics) -> u64| -> f64 {
            statistics.streams.iter().map(of).sum::<u64>() as f64
        };
        let now = [
            1e3 * statistics.decode_seconds,
            sum(|stream| stream.counters.frames_decoded),
            sum(|stream| stream.counters.missed),
        ];
        // A file that is closed takes its counts with it.
        let since: [f64; 3] = std::array::from_fn(|k| (now[k] - before[k]).max(0.0));
        *before = now;
        diagnostics.add_measurement(&Self::INSTANCES, || statistics.instances as f64);
        diagnostics.add_measurement(&Self::HEAP_HELD, || statistics.heap_held as f64);
        diagnostics.add_measurement(&Self::DECODE_TIME, || since[0]);
        diagnostics.add_measurement(&Self::DECODED, || since[1]);
        diagnostics.add_measurement(&Self::MISSED, || since[2]);
    }
}

impl Plugin for ReelDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        app.register_diagnostic(Diagnostic::new(Self::INSTANCES))
            .register_diagnostic(Diagnostic::new(Self::HEAP_HELD).with_suffix(" bytes"))
            .register_diagnostic(Diagnostic::new(Self::DECODE_TIME).with_suffix(" ms"))
            .register_diagnostic(Diagnostic::new(Self::DECODED))
            .register_diagnostic(Diagnostic::new(Self::MISSED))
            .add_systems(Last, Self::measure);
    }
}
