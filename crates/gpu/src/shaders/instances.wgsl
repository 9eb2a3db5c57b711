// Counts and lists, draw by draw, the instances that are drawn.

override GROUP: u32 = 256u;

const MODEL_WORDS = 8u;
const DRAW_WORDS = 5u;
const INVISIBLE = 0xffffffffu;

struct View {
  planes: array<vec4f, 6>,
  eye: vec3f,
  pixels_at_one: f32,
  pixels: f32,
  sprite_below: f32,
  nothing_below: f32,
  instances: u32,
  draws: u32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<storage, read> models: array<u32>;
@group(0) @binding(2) var<storage, read> transforms: array<vec4f>;
@group(0) @binding(3) var<storage, read> numbers: array<u32>;
@group(0) @binding(4) var<storage, read_write> draws: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> starts: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> chosen: array<u32>;
@group(0) @binding(7) var<storage, read_write> visible: array<u32>;

fn number(wg: vec3u, groups: vec3u, thread: u32) -> u32 { return (wg.x + wg.y * groups.x) * GROUP + thread; }
fn model_f(at: u32) -> f32 { return bitcast<f32>(models[at]); }

fn draw_of(i: u32) -> u32 {
  let x = transforms[3u * i];
  let y = transforms[3u * i + 1u];
  let z = transforms[3u * i + 2u];
  let count = (arrayLength(&models) - view.draws) / MODEL_WORDS;
  let at = MODEL_WORDS * min(numbers[i], count - 1u);
  let centre = vec4f(model_f(at), model_f(at + 1u), model_f(at + 2u), 1.0);
  let place = vec3f(dot(x, centre), dot(y, centre), dot(z, centre));
  let squares = x.xyz * x.xyz + y.xyz * y.xyz + z.xyz * z.xyz;
  let scale = sqrt(max(max(squares.x, squares.y), squares.z));
  let radius = model_f(at + 3u) * scale;
  for (var k = 0u; k < 6u; k += 1u) {
    // Also where that is not a number.
    if (!(dot(view.planes[k], vec4f(place, 1.0)) >= -radius)) { return INVISIBLE; }
  }
  let distance = length(place - view.eye);
  let pixels = radius * view.pixels_at_one;
  if (pixels <= view.nothing_below * distance) { return INVISIBLE; }
  let first = models[at + 4u];
  let lod_count = models[at + 5u];
  if (models[at + 6u] == 1u && pixels < view.sprite_below * distance) { return first + lod_count; }
  let errors = MODEL_WORDS * count + first;
  let nearest = max(distance - radius, 0.0);
  var level = lod_count - 1u;
  while (level > 0u && model_f(errors + level) * scale * view.pixels_at_one > view.pixels * nearest) { level -= 1u; }
  return first + level;
}

@compute @workgroup_size(GROUP)
fn clear(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let d = number(wg, groups, thread);
  if (d < view.draws) { atomicStore(&draws[DRAW_WORDS * d + 1u], 0u); }
}

@compute @workgroup_size(GROUP)
fn choose(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = number(wg, groups, thread);
  if (i >= view.instances) { return; }
  let draw = draw_of(i);
  chosen[i] = draw;
  if (draw != INVISIBLE) { atomicAdd(&draws[DRAW_WORDS * draw + 1u], 1u); }
}

@compute @workgroup_size(1)
fn starts_of_draws() {
  var at = 0u;
  for (var d = 0u; d < view.draws; d += 1u) {
    atomicStore(&starts[2u * d], at);
    atomicStore(&starts[2u * d + 1u], 0u);
    at += atomicLoad(&draws[DRAW_WORDS * d + 1u]);
  }
}

@compute @workgroup_size(GROUP)
fn place(@builtin(workgroup_id) wg: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) thread: u32) {
  let i = number(wg, groups, thread);
  if (i >= view.instances) { return; }
  let draw = chosen[i];
  if (draw == INVISIBLE) { return; }
  visible[atomicLoad(&starts[2u * draw]) + atomicAdd(&starts[2u * draw + 1u], 1u)] = i;
}
