//! Options made from bytes. Shared with the tests of the command line, which have no fuzzer.

use super::Numbers;
use meshreel_options::{BetweenChoice, RigChoice};
use meshreel_options::{BlockChoice, MethodChoice, Options, PartsChoice, Preset, Tolerance, TransformForm};
use meshreel_scene::sample::{ChannelSelection, TimeRange};

/// Options that may stand together, of which half or so are the usual ones.
pub fn options(numbers: &mut Numbers) -> Options {
    let preset = [Preset::Small, Preset::Fast, Preset::Classic][numbers.below(3)];
    let layered = preset != Preset::Classic;
    let tolerances = [
        Tolerance::Relative(1e-4),
        Tolerance::Relative(1e-4),
        Tolerance::Absolute(0.01),
        Tolerance::Absolute(10.0),
        Tolerance::Absolute(1e-9),
        Tolerance::Absolute(1e-42),
        Tolerance::Relative(0.1),
        Tolerance::Relative(1e-7),
    ];
    let usual = Options {
        preset,
        tolerance: tolerances[numbers.below(8)],
        jobs: 1,
        effort: 1 + numbers.below(9) as u32,
        channels: ChannelSelection {
            normals: numbers.below(4) != 1,
            uvs: numbers.below(4) != 1,
            colours: numbers.below(4) != 1,
            attributes: true,
        },
        ..Options::default()
    };
    let remesh = numbers.below(16) == 1;
    let method = match (numbers.below(8), layered) {
        (1, _) => MethodChoice::Soft,
        (2, _) if !remesh => MethodChoice::Fluid,
        (3, true) => MethodChoice::Rigid,
        (4, true) => MethodChoice::Skinned,
        (5, _) => MethodChoice::Static,
        _ => MethodChoice::Auto,
    };
    let more = Options {
        method,
        index_every: match layered {
            true => [None, Some(16), Some(64)][numbers.below(3)],
            false => [None, Some(1), Some(2), Some(3), Some(64)][numbers.below(5)],
        },
        block: match layered {
            true => usual.block,
            false => [BlockChoice::Store, BlockChoice::Lz4hc, BlockChoice::Zstd, BlockChoice::Deflate]
                [numbers.below(4)],
        },
        transforms: match numbers.below(4) {
            1 if layered => TransformForm::Packed,
            _ => TransformForm::Clip,
        },
        parts: match (numbers.below(8), layered, method) {
            (1, true, MethodChoice::Auto | MethodChoice::Rigid) => PartsChoice::Connected,
            _ => PartsChoice::Auto,
        },
        smooth_angle: [None, None, None, Some(0.0), Some(30.0), Some(180.0)][numbers.below(6)],
        strip: numbers.below(4) == 1,
        ..usual.clone()
    };
    if numbers.bit() {
        return Options {
            method: match method {
                MethodChoice::Rigid | MethodChoice::Skinned => method,
                _ => MethodChoice::Auto,
            },
            ..usual
        };
    }
    match numbers.bit() {
        true => more,
        false => rare(more, layered, remesh, numbers),
    }
}

/// What is asked of the time between frames, and of rigs; zeros ask for nothing.
pub fn more(options: Options, numbers: &mut Numbers) -> Options {
    Options {
        between: match numbers.below(6) {
            1 => BetweenChoice::Within(4.0),
            2 => BetweenChoice::Within(1.5 + f64::from(numbers.u8()) / 8.0),
            3 => BetweenChoice::Off,
            _ => BetweenChoice::Auto,
        },
        rig: match numbers.below(6) {
            1 | 2 => RigChoice::Keep,
            3 => RigChoice::Only,
            _ => RigChoice::Bake,
        },
        ..options
    }
}

/// Options that few people touch, on top of others.
fn rare(more: Options, layered: bool, remesh: bool, numbers: &mut Numbers) -> Options {
    Options {
        normal_tolerance: [1.0, 0.02, 0.3, 20.0][numbers.below(4)],
        uv_tolerance: [1.0 / 4096.0, 1e-7, 0.2][numbers.below(3)],
        colour_bits: [8, 1, 16][numbers.below(3)],
        cycle: numbers.below(8) == 1,
        remesh,
        fps: [None, None, Some(30.0), Some(0.7)][numbers.below(4)],
        range: [None, None, Some(TimeRange::Frames(1, 3)), Some(TimeRange::Seconds(0.0, 1.0))]
            [numbers.below(4)],
        lod: (numbers.below(4) * numbers.below(2)) as u32,
        cull_hidden: numbers.below(8) == 1,
        show_hidden: numbers.below(8) == 1,
        attributes_apart: layered && numbers.below(8) == 1,
        ..more
    }
}
