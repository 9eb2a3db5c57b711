// Meshes as the viewer looks at them. Colours are linear until the end; the target keeps what is seen.

struct Draw {
  clip: mat4x4f,       // object to clip space
  world: mat4x4f,      // object to view-aligned world, for normals
  colour: vec4f,
  look: u32,
  has_normals: u32,
  velocity_scale: f32,
  light: u32,          // 0 from the eye, 1 from above, 2 from above and less where contact shading says so
  up: vec4f,           // upwards as it is seen from the eye
}
@group(0) @binding(0) var<uniform> draw: Draw;

struct Vertex {
  @location(0) position: vec3f,
  @location(1) normal: vec2f,
  @location(2) uv: vec2f,
  @location(3) colour: vec4f,
  @location(4) velocity: vec3f,
  @location(5) overlay: vec4f,
}
struct Seen {
  @builtin(position) position: vec4f,
  @location(0) world: vec3f,
  @location(1) normal: vec3f,
  @location(2) uv: vec2f,
  @location(3) colour: vec4f,
  @location(4) speed: f32,
  @location(5) overlay: vec4f,
}

@vertex
fn seen(v: Vertex) -> Seen {
  var xy = v.normal;
  let z = 1.0 - abs(xy.x) - abs(xy.y);
  if (z < 0.0) { xy = (1.0 - abs(xy.yx)) * select(vec2f(1.0), vec2f(-1.0), xy < vec2f(0.0)); }
  var out: Seen;
  out.position = draw.clip * vec4f(v.position, 1.0);
  out.world = (draw.world * vec4f(v.position, 1.0)).xyz;
  out.normal = (draw.world * vec4f(normalize(vec3f(xy, z)), 0.0)).xyz;
  out.uv = v.uv;
  out.colour = v.colour;
  out.speed = length(v.velocity) * draw.velocity_scale;
  out.overlay = v.overlay;
  return out;
}

// Words of a vertex, whose first three are its position.
const WORDS = 9u;
@group(1) @binding(0) var<storage, read> vertices: array<u32>;
@group(1) @binding(1) var<storage, read> indices: array<u32>;

// Ends of edges: six for the three edges of each triangle.
@vertex
fn edge(@builtin(vertex_index) end: u32) -> Seen {
  let corner = (end % 6u / 2u + end % 2u) % 3u;
  let word = WORDS * indices[end / 6u * 3u + corner];
  let position = bitcast<vec3f>(vec3u(vertices[word], vertices[word + 1u], vertices[word + 2u]));
  var out: Seen;
  out.position = draw.clip * vec4f(position, 1.0);
  return out;
}

fn shown(linear: vec3f) -> vec4f {
  let c = clamp(linear, vec3f(0.0), vec3f(1.0));
  return vec4f(select(1.055 * pow(c, vec3f(1.0 / 2.4)) - 0.055, 12.92 * c, c <= vec3f(0.0031308)), 1.0);
}

// Black, blue, green, yellow, red.
fn heat(x: f32) -> vec3f {
  let t = clamp(x, 0.0, 1.0) * 4.0;
  return clamp(vec3f(t - 2.0, min(t, 4.0 - t), min(t * 2.0, 2.0 - t)), vec3f(0.02), vec3f(1.0));
}

// A hemisphere and a soft key light, both from above: the light of all and that of the hemisphere.
fn lit(n: vec3f, up: vec3f) -> array<vec3f, 2> {
  let sky = mix(vec3f(0.10, 0.09, 0.08), vec3f(0.40, 0.42, 0.45), 0.5 + 0.5 * dot(n, up));
  let wrapped = max((dot(n, normalize(up * 0.8 + vec3f(-0.5, 0.1, 0.55))) + 0.25) / 1.25, 0.0);
  return array(sky + wrapped * wrapped * vec3f(0.68, 0.665, 0.64), sky);
}

@fragment
fn surface(v: Seen, @builtin(front_facing) front: bool) -> @location(0) vec4f {
  let flat_normal = normalize(cross(dpdx(v.world), dpdy(v.world)));
  // Seen from the eye, which looks along −z.
  var n = select(flat_normal, normalize(v.normal), draw.has_normals == 1u);
  if (draw.look == 1u) { return shown(pow(n * 0.5 + 0.5, vec3f(2.2))); }
  if (draw.light > 0u) {
    // Both sides of a surface are lit; smooth normals turn with the triangle that they belong to.
    let side = select(-flat_normal, flat_normal, dot(flat_normal, v.world) < 0.0);
    n = select(n, -n, dot(n, side) < 0.0);
  } else if (n.z < 0.0) {
    n = -n;
  }
  var base = draw.colour.rgb;
  if (draw.look == 2u) {
    let cell = floor(v.uv * 16.0);
    let dark = (cell.x + cell.y) - 2.0 * floor((cell.x + cell.y) * 0.5);
    base = mix(vec3f(0.75), vec3f(0.06, 0.2, 0.4), dark) * mix(vec3f(1.0), vec3f(fract(v.uv), 1.0), 0.35);
  } else if (draw.look == 3u) {
    base = v.colour.rgb;
  } else if (draw.look == 4u) {
    base = heat(v.speed);
  } else if (draw.look == 5u) {
    base = v.overlay.rgb;
  } else if (draw.look == 6u) {
    base = mix(heat(v.overlay.r), vec3f(0.3), v.overlay.g);
  }
  if (draw.light > 0u) {
    let light = lit(n, draw.up.xyz);
    let rim = pow(1.0 - clamp(dot(n, normalize(-v.world)), 0.0, 1.0), 4.0) * 0.05;
    // Contact shading takes all of the hemisphere's light, and most of the other.
    let taken = mix(0.7, 1.0, light[1].g / light[0].g);
    return vec4f(shown(base * light[0] + rim).rgb, select(1.0, 1.0 - taken, draw.light == 2u));
  }
  let key = max(dot(n, normalize(vec3f(-0.35, 0.55, 0.75))), 0.0);
  let fill = 0.5 + 0.5 * dot(n, normalize(vec3f(0.6, -0.2, 0.4)));
  let rim = pow(1.0 - max(n.z, 0.0), 3.0) * 0.18;
  return shown(base * (0.75 * key + 0.25 * fill) + rim);
}

@fragment
fn line(v: Seen) -> @location(0) vec4f {
  return shown(select(draw.colour.rgb, v.overlay.rgb, draw.look == 7u));
}
