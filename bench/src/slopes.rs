//! `slopes`: growth of each verb's time when one count of an input doubles: frames, samples, nodes, meshes,
//! instances, joints and others. A slope is the binary logarithm of the ratio of two times: 1 is linear, 2
//! quadratic.

use anyhow::{Context, bail};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only inputs whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// The program; by default the one beside this one.
    #[arg(long)]
    meshreel: Option<PathBuf>,
    /// Double a count until a verb takes this many seconds, or the count reaches its end.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// A slope above this fails.
    #[arg(long, default_value_t = 1.5)]
    allowed: f64,
}

/// An input with one count that doubles.
struct Series {
    name: &'static str,
    extension: &'static str,
    first: usize,
    last: usize,
    /// Arguments of `compile` besides input and output.
    options: &'static [&'static str],
    write: fn(usize) -> String,
}

const SERIES: &[Series] = &[
    usda("frames", 4096, 1 << 18, |n| scene(&mesh("M", &samples("point3f[] points", n, quad)))),
    usda("samples of a transform", 4096, 1 << 18, |n| {
        scene(&xform(
            "X",
            &samples("double3 xformOp:translate", n, |i| format!("({i}, 0, 0)")),
            &static_mesh("M"),
        ))
    }),
    usda("frames between samples", 256, 1 << 14, |n| {
        let turn = |i: usize| format!("(0, {}, 0)", 70 * i);
        scene(&ordered("X", "rotateXYZ", &samples("float3 xformOp:rotateXYZ", n, turn), &static_mesh("M")))
    }),
    usda("frames of a camera", 4096, 1 << 18, |n| {
        let lens = samples("float focalLength", n, |i| format!("{}", 20 + i % 30));
        scene(&format!("{}def Camera \"C\" {{ {lens} }}\n", static_mesh("M")))
    }),
    usda("intervals of visibility", 1024, 1 << 17, |n| {
        let shown = |i: usize| ["\"inherited\"", "\"invisible\""][i % 2].to_owned();
        scene(&mesh("M", &format!("{}{}", STATIC_POINTS, samples("token visibility", n, shown))))
    }),
    usda("points", 1 << 12, 1 << 20, |n| {
        let line = |frame: usize| {
            let point = |i: usize| format!("({}, {}, {frame})", i / 2, i % 2 + i * frame % 3);
            format!("[{}]", list(n, point))
        };
        let faces = list(n / 2 - 1, |_| "4".into());
        let corners = list(n / 2 - 1, |i| {
            let a = 2 * i;
            format!("{a}, {}, {}, {}", a + 1, a + 3, a + 2)
        });
        let points = samples("point3f[] points", 4, line);
        scene(&format!(
            "def Mesh \"M\" {{ int[] faceVertexCounts = [{faces}]\nint[] faceVertexIndices = [{corners}]\n{points} }}\n"
        ))
    }),
    usda("moving nodes", 256, 1 << 15, |n| {
        scene(&many(n, |i| {
            let way = samples("double3 xformOp:translate", 2, |s| format!("({}, {i}, 0)", s * i));
            xform(&format!("X{i}"), &way, "")
        }))
    }),
    usda("nested nodes", 32, 1 << 7, |n| {
        let mut text = static_mesh("M");
        for i in 0..n {
            text = xform(&format!("X{i}"), "double3 xformOp:translate = (1, 0, 0)\n", &text);
        }
        scene(&text)
    }),
    usda("meshes", 64, 1 << 13, |n| {
        scene(&many(n, |i| mesh(&format!("M{i}"), &samples("point3f[] points", 2, quad))))
    }),
    usda("meshes that stand still", 64, 1 << 14, |n| scene(&many(n, |i| static_mesh(&format!("M{i}"))))),
    usda("cameras", 64, 1 << 13, |n| {
        let camera = |i| format!("def Camera \"C{i}\" {{ float focalLength = {} }}\n", 20 + i % 30);
        scene(&format!("{}{}", static_mesh("M"), many(n, camera)))
    }),
    usda("instances of an instancer", 64, 1 << 14, |n| {
        let places = |frame: usize| format!("[{}]", list(n, |i| format!("({i}, {}, 0)", i * frame)));
        let numbers = list(n, |_| "0".into());
        scene(&format!(
            "def PointInstancer \"I\" {{ int[] protoIndices = [{numbers}]\nrel prototypes = </I/M>\n{}{} }}\n",
            samples("point3f[] positions", 2, places),
            static_mesh("M"),
        ))
    }),
    usda("instances by reference", 64, 1 << 13, |n| {
        let prototype = format!("class \"P\" {{ {} }}\n", static_mesh("M"));
        let copy = |i| {
            format!(
                "def Xform \"R{i}\" (instanceable = true\ninherits = </P>) {{ double3 xformOp:translate = ({i}, 0, 0)\n\
                 uniform token[] xformOpOrder = [\"xformOp:translate\"] }}\n"
            )
        };
        format!("{HEADER}{prototype}{}", many(n, copy))
    }),
    usda("attributes", 16, 1 << 11, |n| {
        let one = |i| format!("float primvars:a{i} = {i} (interpolation = \"constant\")\n");
        scene(&mesh("M", &format!("{STATIC_POINTS}{}", many(n, one))))
    }),
    usda("face sets", 16, 1 << 11, |n| {
        let set = |i| {
            format!(
                "def GeomSubset \"S{i}\" {{ uniform token elementType = \"face\"\nint[] indices = [0] }}\n"
            )
        };
        scene(&mesh("M", &format!("{STATIC_POINTS}{}", many(n, set))))
    }),
    usda("frames of particles", 256, 1 << 15, |n| {
        let places = |i: usize| format!("[({i}, 0, 0), (0, {}, 0)]", i % 7);
        let ids = |i: usize| format!("[{}, {}]", i / 8, i / 8 + 1);
        let points = samples("point3f[] points", n, places);
        scene(&format!("def Points \"P\" {{ {points}{} }}\n", samples("int64[] ids", n, ids)))
    }),
    usda("particles", 1 << 10, 1 << 18, |n| {
        let places = |frame: usize| format!("[{}]", list(n, |i| format!("({}, {i}, 0)", i * frame % 9)));
        let ids = list(n, |i| i.to_string());
        let points = samples("point3f[] points", 4, places);
        scene(&format!("def Points \"P\" {{ int64[] ids = [{ids}]\n{points} }}\n"))
    }),
    usda("curves", 1 << 8, 1 << 16, |n| {
        let places =
            |frame: usize| format!("[{}]", list(4 * n, |i| format!("({}, {i}, {frame})", i * frame % 9)));
        let counts = list(n, |_| "4".into());
        let points = samples("point3f[] points", 4, places);
        scene(&format!("def BasisCurves \"C\" {{ int[] curveVertexCounts = [{counts}]\n{points} }}\n"))
    }),
    bvh("joints", 64, 1 << 11, |n| skeleton(n, 8)),
    bvh("samples of a clip", 1024, 1 << 16, |n| skeleton(4, n)),
    Series {
        name: "clips",
        extension: "gltf",
        first: 32,
        last: 1 << 12,
        options: &["--clips-only", "--animation", "all"],
        write: clips,
    },
];

const HEADER: &str = "#usda 1.0\n(timeCodesPerSecond = 24)\n";
const STATIC_POINTS: &str = "point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n";

const fn usda(name: &'static str, first: usize, last: usize, write: fn(usize) -> String) -> Series {
    Series { name, extension: "usda", first, last, options: &[], write }
}

const fn bvh(name: &'static str, first: usize, last: usize, write: fn(usize) -> String) -> Series {
    Series { name, extension: "bvh", first, last, options: &[], write }
}

/// Returns `true` if no slope is above the allowed one.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let beside = std::env::current_exe()?.with_file_name("meshreel");
    let program = arguments.meshreel.clone().unwrap_or(beside);
    let folder = tempfile::tempdir()?;
    println!(
        "seconds of one core at the last count and its slope (binary logarithm of the ratio to half of it)"
    );
    println!("{:<28}{:>8}{:>16}{:>16}{:>16}{:>16}", "", "count", "compile", "verify", "info", "extract");
    let mut all_hold = true;
    let wanted = |series: &&Series| arguments.only.as_ref().is_none_or(|only| series.name.contains(only));
    for series in SERIES.iter().filter(wanted) {
        let mut before: Option<[f64; 4]> = None;
        let mut count = series.first;
        loop {
            let now = times(&program, folder.path(), series, count)
                .with_context(|| format!("{}, count {count}", series.name))?;
            let slowest = now.iter().copied().fold(0.0, f64::max);
            let ends = slowest >= arguments.seconds || 2 * count > series.last;
            if let (Some(before), true) = (before, ends) {
                let mut line = format!("{:<28}{count:>8}", series.name);
                for (before, now) in before.iter().zip(now) {
                    // Shorter times are dominated by process start and the resolution of the clock.
                    let slope = (*before >= 0.05).then(|| (now / before).log2());
                    all_hold &= slope.is_none_or(|slope| slope <= arguments.allowed);
                    let slope = slope.map_or("-".into(), |slope| format!("{slope:.2}"));
                    write!(line, "{now:>10.2}{slope:>6}")?;
                }
                println!("{line}");
                break;
            }
            before = Some(now);
            count *= 2;
        }
    }
    Ok(all_hold)
}

/// Returns the processor time in seconds of compile, verify, info and extract.
fn times(program: &Path, folder: &Path, series: &Series, count: usize) -> anyhow::Result<[f64; 4]> {
    let input = folder.join("in").with_extension(series.extension);
    let [reel, back] = ["in.reel", "back.glb"].map(|name| folder.join(name));
    std::fs::write(&input, (series.write)(count))?;
    std::fs::write(folder.join("keys.bin"), KEYS.map(f32::to_le_bytes).concat())?;
    let mut compile = Command::new(program);
    compile.args(["compile", "--quiet", "--jobs", "1", "--effort", "1", "-o"]).arg(&reel).arg(&input);
    let mut verify = Command::new(program);
    verify.args(["verify", "--quiet"]).args([&input, &reel]);
    let mut info = Command::new(program);
    info.args(["info", "--json"]).arg(&input);
    let mut extract = Command::new(program);
    extract.args(["extract", "--quiet"]).arg(&reel).arg("-o").arg(&back);
    Ok([
        seconds(compile.args(series.options))?,
        seconds(&mut verify)?,
        seconds(&mut info)?,
        seconds(&mut extract)?,
    ])
}

/// Runs a command and returns its processor time in seconds, or its wall time if the system does not provide
/// that.
fn seconds(command: &mut Command) -> anyhow::Result<f64> {
    let (start, before) = (Instant::now(), children_seconds());
    let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(match (before, children_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    })
}

/// Returns the processor time of all child processes that have ended, in seconds. Linux counts hundredths.
fn children_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name before the last parenthesis may contain anything; field 3 follows it.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 / 100.0)
}

fn list(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

fn many(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect()
}

/// Returns a layer with a root that contains `content`.
fn scene(content: &str) -> String {
    format!("{HEADER}def Xform \"Root\" {{ {content} }}\n").replace("</I/", "</Root/I/")
}

/// Returns an attribute with `n` samples, one per frame.
fn samples(name: &str, n: usize, value: impl Fn(usize) -> String) -> String {
    let all = list(n, |i| format!("{i}: {}", value(i)));
    format!("{name}.timeSamples = {{ {all} }}\n")
}

fn quad(frame: usize) -> String {
    format!("[(0, 0, 0), (1, 0, {}), (1, 1, 0), (0, 1, {})]", frame % 5, frame % 3)
}

fn mesh(name: &str, content: &str) -> String {
    format!(
        "def Mesh \"{name}\" {{ int[] faceVertexCounts = [4]\nint[] faceVertexIndices = [0, 1, 2, 3]\n{content} }}\n"
    )
}

fn static_mesh(name: &str) -> String {
    mesh(name, STATIC_POINTS)
}

fn xform(name: &str, translate: &str, content: &str) -> String {
    ordered(name, "translate", translate, content)
}

fn ordered(name: &str, operation: &str, attribute: &str, content: &str) -> String {
    format!(
        "def Xform \"{name}\" {{ {attribute}uniform token[] xformOpOrder = [\"xformOp:{operation}\"]\n{content} }}\n"
    )
}

/// Returns a clip in BVH: a root with `joints` joints below it that turn.
fn skeleton(joints: usize, samples: usize) -> String {
    let channels = "CHANNELS 3 Zrotation Xrotation Yrotation";
    let mut text = format!("HIERARCHY\nROOT root\n{{\nOFFSET 0 0 0\n{channels}\n");
    for j in 0..joints {
        let _ = write!(
            text,
            "JOINT j{j}\n{{\nOFFSET 0 {} 1\n{channels}\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}\n",
            j % 9
        );
    }
    let _ = write!(text, "}}\nMOTION\nFrames: {samples}\nFrame Time: 0.04\n");
    for s in 0..samples {
        text.push_str("0 0 0 ");
        text.push_str(&many(joints, |j| format!("{} 0 {} ", (s * 7 + j) % 60, s % 30)));
        text.push('\n');
    }
    text
}

/// Times of two keys, and two translations.
const KEYS: [f32; 8] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0];

/// Returns a skeleton of two joints with `n` animations.
fn clips(n: usize) -> String {
    let one = |i| {
        format!(
            r#"{{"name":"a{i}","samplers":[{{"input":0,"output":1}}],"channels":[{{"sampler":0,"target":{{"node":{},"path":"translation"}}}}]}}"#,
            i % 2
        )
    };
    format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"name":"a","children":[1]}},{{"name":"b"}}],
"buffers":[{{"uri":"keys.bin","byteLength":32}}],"bufferViews":[{{"buffer":0,"byteLength":8}},{{"buffer":0,"byteOffset":8,"byteLength":24}}],
"accessors":[{{"bufferView":0,"componentType":5126,"count":2,"type":"SCALAR","min":[0],"max":[1]}},{{"bufferView":1,"componentType":5126,"count":2,"type":"VEC3"}}],
"animations":[{}]}}"#,
        list(n, one)
    )
}
