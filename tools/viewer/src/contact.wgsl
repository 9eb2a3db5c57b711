// Contact shading: surfaces darken where others are near them. From depth alone, after McGuire, Osman,
// Bukowski, Hennessy, "The alchemy screen-space ambient obscurance algorithm", 2011. Lengths are in distances
// from the camera to its target, so that they fit halves.

struct View {
  floor: vec4f,      // points p with dot(xyz, p) = w; xyz = 0: no floor
  tangent: vec2f,    // of half the angles of view
  pixels: vec2f,
  near: f32,
  radius: f32,       // as far as surfaces darken each other
  part: f32,         // the same at distance 1, as a limit near the camera
  spare: f32,
}
@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var depth: texture_depth_multisampled_2d;
@group(0) @binding(2) var shade: texture_2d<f32>;
@group(0) @binding(3) var colours: texture_multisampled_2d<f32>;

const TAPS = 12;
const STRENGTH = 3.4;
// The floor has a wider and darker shade, on its dark ground.
const ON_FLOOR = 1.6;
// Sine of the angle from which a surface counts: facets of a smooth one do not darken each other.
const BIAS = 0.2;
// The background.
const FAR = 6e4;

@vertex
fn whole(@builtin(vertex_index) corner: u32) -> @builtin(position) vec4f {
  return vec4f(vec2f(vec2u(corner << 1u, corner) & vec2u(2u)) * 2.0 - 1.0, 0.0, 1.0);
}

// Where a sample of a pixel is, from the eye, which looks along −z: on a surface, on the floor, or far away.
fn position(pixel: vec2i, sample: i32) -> vec3f {
  let p = clamp(pixel, vec2i(0), vec2i(view.pixels) - 1);
  let seen = (vec2f(p) + 0.5) / view.pixels * 2.0 - 1.0;
  let ray = vec3f(seen * view.tangent * vec2f(1.0, -1.0), -1.0);
  let d = textureLoad(depth, p, sample);
  if (d > 0.0) { return ray * (view.near / d); }
  let along = dot(view.floor.xyz, ray);
  let t = view.floor.w / along;
  return ray * select(FAR, t, along != 0.0 && t > 0.0 && t < FAR);
}

fn radius(z: f32) -> f32 { return min(view.radius, view.part * z); }

fn steps(own: vec3f, before: vec3f, after: vec3f) -> vec3f {
  return select(own - before, after - own, abs(after.z - own.z) < abs(own.z - before.z));
}

@fragment
fn obscured(@builtin(position) at: vec4f) -> @location(0) vec2f {
  let pixel = vec2i(at.xy);
  let own = position(pixel, 0);
  let z = -own.z;
  let is_floor = textureLoad(depth, pixel, 0) == 0.0;
  let most = radius(z) * select(1.0, ON_FLOOR, is_floor);
  let reach = most / z * view.pixels.y / (2.0 * view.tangent.y);
  if (z >= FAR || reach < 1.5) { return vec2f(1.0, z); }
  var n = view.floor.xyz;
  if (!is_floor) {
    let x = steps(own, position(pixel - vec2i(1, 0), 0), position(pixel + vec2i(1, 0), 0));
    let y = steps(own, position(pixel - vec2i(0, 1), 0), position(pixel + vec2i(0, 1), 0));
    n = normalize(cross(y, x));
  }
  // Sixteen patterns, which a square of 4 × 4 pixels blurs.
  let pattern = f32((((pixel.x & 3) * 4 + (pixel.y & 3)) * 7) & 15) / 16.0;
  var sum = 0.0;
  for (var i = 0; i < TAPS; i++) {
    let part = (f32(i) + pattern) / f32(TAPS);
    let angle = 2.4 * f32(i) + 6.2831853 * pattern;
    let away = vec2f(cos(angle), sin(angle)) * max(part * reach, 1.5);
    let v = position(pixel + vec2i(round(away)), 0) - own;
    let square = dot(v, v);
    let near = max(1.0 - square / (most * most), 0.0);
    sum += near * max(dot(v, n) * inverseSqrt(max(square, 1e-20)) - BIAS, 0.0);
  }
  let strength = STRENGTH * select(1.0, ON_FLOOR, is_floor);
  return vec2f(max(1.0 - strength * sum / f32(TAPS), 0.0), z);
}

@fragment
fn blurred(@builtin(position) at: vec4f) -> @location(0) vec2f {
  let pixel = vec2i(at.xy);
  let own = textureLoad(shade, pixel, 0).xy;
  if (own.y >= FAR) { return own; }
  let most = vec2i(view.pixels) - 1;
  let near = 0.5 * radius(own.y);
  var sum = vec2f(0.0);
  for (var i = 0; i < 16; i++) {
    let other = textureLoad(shade, clamp(pixel + vec2i(i & 3, i >> 2u) - 2, vec2i(0), most), 0).xy;
    sum += select(vec2f(0.0), vec2f(other.x, 1.0), abs(other.y - own.y) < near);
  }
  return vec2f(select(own.x, sum.x / sum.y, sum.y > 0.0), own.y);
}

// The picture: the mean of each pixel's samples. Alpha says how little of a sample's light comes from all sides.
@fragment
fn combined(@builtin(position) at: vec4f) -> @location(0) vec4f {
  let pixel = vec2i(at.xy);
  let own = textureLoad(shade, pixel, 0).xy;
  let most = vec2i(view.pixels) - 1;
  var sum = vec3f(0.0);
  for (var sample = 0; sample < 4; sample++) {
    let colour = textureLoad(colours, pixel, sample);
    var light = 1.0;
    if (colour.a < 1.0) {
      var nearest = own;
      let z = -position(pixel, sample).z;
      if (abs(own.y - z) > 0.5 * radius(z)) {
        // Another surface than that of the pixel's first sample; a neighbour may have it.
        for (var i = 0; i < 4; i++) {
          let way = select(vec2i(0, 2 * (i & 1) - 1), vec2i(2 * (i & 1) - 1, 0), i < 2);
          let other = textureLoad(shade, clamp(pixel + way, vec2i(0), most), 0).xy;
          nearest = select(nearest, other, abs(other.y - z) < abs(nearest.y - z));
        }
      }
      light = 1.0 - (1.0 - colour.a) * (1.0 - nearest.x);
    }
    sum += colour.rgb * pow(light, 1.0 / 2.2);
  }
  return vec4f(sum / 4.0, 1.0);
}
