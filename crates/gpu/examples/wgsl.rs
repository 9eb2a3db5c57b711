//! Writes the texts of all shaders into a folder, one file each, for other compilers than wgpu's:
//! `cargo run -p meshreel-gpu --example wgsl -- FOLDER`

use meshreel_gpu::{instances, shaders, units};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let draw = "@vertex fn draw(@builtin(vertex_index) v: u32, @builtin(instance_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(instance_point(instance_of(i), vertex_of(v).position) + vec3f(sprite_corner(v), 0.0), 1.0);
}\n";
    for (name, text) in [
        ("passes", shaders::wgsl()),
        ("units", units::wgsl()),
        ("instances", instances::wgsl().into()),
        ("pull", shaders::pull_wgsl(0) + &instances::pull_wgsl(1) + draw),
    ] {
        std::fs::write(format!("{folder}/{name}.wgsl"), text)?;
    }
    Ok(())
}
