fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut ro = meshreel_scene::read::ReadOptions::default();
    let mut o = meshreel_compile::Options::default();
    let mut positional = vec![];
    let mut i = 1;
    while i < a.len() {
        match a[i].as_str() {
            "--points" => {
                i += 1;
                ro.points = Some(a[i].clone().into());
            }
            "-t" => {
                i += 1;
                o.tolerance = meshreel_compile::Tolerance::Relative(a[i].parse().unwrap());
            }
            "-e" => {
                i += 1;
                o.effort = a[i].parse().unwrap();
            }
            "-j" => {
                i += 1;
                o.jobs = a[i].parse().unwrap();
            }
            "-m" => {
                i += 1;
                o.memory = a[i].parse::<u64>().unwrap() << 20;
            }
            "-p" => {
                o.channels = meshreel_scene::sample::Channels {
                    normals: false,
                    uvs: false,
                    colours: false,
                };
            }
            "-b" => {
                i += 1;
                o.block = match a[i].as_str() {
                    "deflate" => meshreel_codec::block::Format::Deflate,
                    "lz4" => meshreel_codec::block::Format::Lz4,
                    "store" => meshreel_codec::block::Format::Store,
                    _ => meshreel_codec::block::Format::Zstd,
                };
            }
            x => positional.push(x.to_string()),
        }
        i += 1;
    }
    let (scene, remarks) =
        meshreel_scene::read::open(std::path::Path::new(&positional[0]), &ro).unwrap();
    match meshreel_compile::compile(
        &scene,
        remarks,
        std::path::Path::new(&positional[1]),
        &o,
        &meshreel_compile::Silent,
    ) {
        Ok(r) => {
            let s: Vec<String> = std::fs::read_to_string("/proc/self/status")
                .unwrap()
                .lines()
                .filter(|l| l.starts_with("VmHWM") || l.starts_with("RssAnon"))
                .map(|s| s.replace('\t', " "))
                .collect();
            println!(
                "OK {} bytes raw {} ratio {:.2} frames {} {:.2}s map {} remarks {} {:?}",
                r.file_bytes,
                r.raw_bytes,
                r.raw_bytes as f64 / (r.file_bytes - r.source_map_bytes) as f64,
                r.frames,
                r.seconds,
                r.source_map_bytes,
                r.remarks.len(),
                s
            );
            for m in r.meshes.iter().take(4) {
                println!(
                    "   {} {} v{} p{} T{:.3e} err{:.3} bytes {} pos {} bpvf {:.3}",
                    m.path,
                    m.method,
                    m.vertices,
                    m.source_points,
                    m.tolerance,
                    m.max_error / m.tolerance,
                    m.bytes,
                    m.position_bytes,
                    m.bits_per_vertex_frame
                );
            }
            for x in r.remarks.iter().take(4) {
                println!("   ! {x}");
            }
            for (a, b) in r.passes {
                println!("   {a}: {b}");
            }
            if r.tree.len() < 1500 {
                println!("{}", r.tree);
            }
        }
        Err(e) => {
            println!("ERR {e}");
            std::process::exit(1)
        }
    }
}
