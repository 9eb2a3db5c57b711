// Codes frames with Draco, each by itself, and decodes them: sizes, seconds, and what comes out. Called by run.sh.
//   node draco.mjs WORK [repeat]
// Reads the folders WORK/NAME that `meshreel-bench peers --prepare` writes, writes draco.json and draco-*.f32 there.
// The package draco3d is looked for in NODE_MODULES. Encoder and decoder are Draco's WebAssembly, at speed 0, which is
// smallest. Positions are on the grid of all other codecs, normals and tangents octahedral with 8 bits.
//   sequential   a cloud of points where faces are constant (they are coded once, elsewhere), else a mesh
//   edgebreaker  a mesh, in an order of vertices that Draco chooses
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const require = createRequire(path.join(process.env.NODE_MODULES ?? '.', 'node_modules', 'index.js'));
const draco3d = require('draco3d');
const DIRECTION_BITS = 8;

const [work, repeat = '5'] = process.argv.slice(2);
const encoders = await draco3d.createEncoderModule({});
const decoders = await draco3d.createDecoderModule({});

/** Reads a file of 32-bit numbers. */
function read(folder, name, type) {
  const bytes = fs.readFileSync(path.join(folder, name));
  return new type(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** Returns the frames of a case: vectors of each vertex, and triangles. */
function readFrames(folder, about) {
  const [positions, normals, tangents] = ['positions', 'normals', 'tangents'].map((n) => read(folder, `${n}.f32`, Float32Array));
  const triangles = read(folder, 'triangles.u32', Uint32Array);
  let vertex = 0;
  let index = 0;
  let faces;
  return about.frames.map(([vertices, indices]) => {
    const own = (all, has) => (has ? all.slice(3 * vertex, 3 * (vertex + vertices)) : null);
    const frame = { vertices, positions: own(positions, true), normals: own(normals, about.normals), tangents: own(tangents, about.tangents) };
    if (indices > 0) faces = triangles.slice(index, index + indices);
    frame.triangles = faces;
    vertex += vertices;
    index += indices;
    return frame;
  });
}

/** Returns for each vertex the first one with the same bits in all vectors: Draco makes them one point. */
function representatives(frame) {
  const known = new Map();
  const columns = [frame.positions, frame.normals, frame.tangents].filter(Boolean).map((a) => new Int32Array(a.buffer));
  return Int32Array.from({ length: frame.vertices }, (_, v) => {
    const key = columns.map((c) => `${c[3 * v]},${c[3 * v + 1]},${c[3 * v + 2]}`).join();
    if (!known.has(key)) known.set(key, v);
    return known.get(key);
  });
}

/** Returns a frame with ids in place of positions, on a grid of whole numbers: a mesh of one attribute has its own order. */
function withIds(frame, ids) {
  const positions = new Float32Array(3 * frame.vertices);
  ids.forEach((id, v) => { positions[3 * v] = id; });
  const bits = Math.max(1, Math.ceil(Math.log2(frame.vertices + 1)));
  return [{ ...frame, positions }, { bits, origin: [0, 0, 0], range: 2 ** bits - 1 }];
}

/** Codes a frame; `ids` are attached to vertices if they are given. */
function encode(frame, grid, method, isCloud, ids) {
  const encoder = new encoders.Encoder();
  const builder = isCloud ? new encoders.PointCloudBuilder() : new encoders.MeshBuilder();
  const geometry = isCloud ? new encoders.PointCloud() : new encoders.Mesh();
  if (!isCloud) builder.AddFacesToMesh(geometry, frame.triangles.length / 3, frame.triangles);
  const add = (type, values) => values && builder.AddFloatAttribute(geometry, type, frame.vertices, 3, values);
  add(encoders.POSITION, frame.positions);
  add(encoders.NORMAL, frame.normals);
  add(encoders.NORMAL, frame.tangents);
  if (ids) builder.AddInt32Attribute(geometry, encoders.GENERIC, frame.vertices, 1, ids);
  encoder.SetSpeedOptions(0, 0);
  encoder.SetAttributeExplicitQuantization(encoders.POSITION, grid.bits, 3, grid.origin, grid.range);
  encoder.SetAttributeQuantization(encoders.NORMAL, DIRECTION_BITS);
  const mesh = method === 'sequential' ? encoders.MESH_SEQUENTIAL_ENCODING : encoders.MESH_EDGEBREAKER_ENCODING;
  // Of clouds, 0 is the sequential method.
  encoder.SetEncodingMethod(isCloud ? 0 : mesh);
  const out = new encoders.DracoInt8Array();
  const size = isCloud
    ? encoder.EncodePointCloudToDracoBuffer(geometry, false, out)
    : encoder.EncodeMeshToDracoBuffer(geometry, out);
  if (!(size > 0)) throw new Error('Draco does not code a frame');
  const bytes = Int8Array.from({ length: size }, (_, i) => out.GetValue(i));
  for (const object of [out, geometry, builder, encoder]) encoders.destroy(object);
  return bytes;
}

/** Memory of the decoder's module, large enough for any attribute. */
let memory = { size: 0, pointer: 0 };
function reserve(size) {
  if (size > memory.size) {
    if (memory.size > 0) decoders._free(memory.pointer);
    memory = { size, pointer: decoders._malloc(size) };
  }
  return memory.pointer;
}

/** Decodes a frame to floats: `take` gets each attribute as it lies in the module's memory. */
function decode(bytes, isCloud, attributes, take) {
  const decoder = new decoders.Decoder();
  const geometry = isCloud ? new decoders.PointCloud() : new decoders.Mesh();
  const status = isCloud
    ? decoder.DecodeArrayToPointCloud(bytes, bytes.length, geometry)
    : decoder.DecodeArrayToMesh(bytes, bytes.length, geometry);
  if (!status.ok()) throw new Error(`Draco does not decode a frame: ${status.error_msg()}`);
  const points = geometry.num_points();
  for (let a = 0; a < attributes; a++) {
    const attribute = decoder.GetAttribute(geometry, a);
    const count = points * attribute.num_components();
    const pointer = reserve(4 * count);
    decoder.GetAttributeDataArrayForAllPoints(geometry, attribute, decoders.DT_FLOAT32, 4 * count, pointer);
    take?.(a, decoders.HEAPF32.subarray(pointer / 4, pointer / 4 + count));
  }
  if (!isCloud) {
    const size = 12 * geometry.num_faces();
    const pointer = reserve(size);
    decoder.GetTrianglesUInt32Array(geometry, size, pointer);
  }
  decoders.destroy(geometry);
  decoders.destroy(decoder);
}

/** The order in which the mesh of the frame before is decoded: it depends on triangles and equal vertices alone. */
let known = {};

/** Returns for each vertex the decoded point that it is. */
function pointsOfVertices(frame, grid, method, attributes) {
  frame.first ??= representatives(frame);
  const isKnown = known.method === method && known.triangles === frame.triangles
    && known.first.every((v, i) => v === frame.first[i]);
  if (!isKnown) {
    let ids;
    if (attributes > 1) {
      decode(encode(frame, grid, method, false, frame.first), false, attributes + 1, (_, values) => { ids = values.slice(); });
    } else {
      const coded = encode(...withIds(frame, frame.first), method, false);
      decode(coded, false, 1, (_, values) => { ids = values.filter((_, i) => i % 3 === 0).map(Math.round); });
    }
    const pointOfId = new Map(Array.from(ids, (id, point) => [id, point]));
    const points = Array.from(frame.first, (id) => pointOfId.get(id));
    known = { method, triangles: frame.triangles, first: frame.first, points, count: ids.length };
  }
  return known;
}

/** Returns what a frame decodes to, in the order of its source's vertices; NaN for a vertex that is lost. */
function decodeInOrder(frame, bytes, grid, method, isCloud, attributes) {
  const columns = [];
  decode(bytes, isCloud, attributes, (_, values) => columns.push(values.slice()));
  if (isCloud) return columns;
  const { points, count } = pointsOfVertices(frame, grid, method, attributes);
  if (3 * count !== columns[0].length) throw new Error('points are not those of the coding with ids');
  return columns.map((column) => {
    const out = new Float32Array(3 * frame.vertices).fill(NaN);
    points.forEach((point, v) => {
      if (point !== undefined) out.set(column.subarray(3 * point, 3 * point + 3), 3 * v);
    });
    return out;
  });
}

function measure(folder, about, frames, grid, method) {
  const isCloud = method === 'sequential' && about.fixed;
  const attributes = 1 + Number(about.normals) + Number(about.tangents);
  const coded = frames.map((frame) => encode(frame, grid, method, isCloud));
  const decoded = [];
  frames.forEach((frame, f) => {
    const columns = decodeInOrder(frame, coded[f], grid, method, isCloud, attributes);
    decoded.push(...columns.slice(0, about.normals ? 2 : 1).map((c) => Buffer.from(c.buffer, c.byteOffset, c.byteLength)));
  });
  const file = `draco-${method}-${grid.tolerance}.f32`;
  fs.writeFileSync(path.join(folder, file), Buffer.concat(decoded));
  let milliseconds = Infinity;
  for (let pass = 0; pass < Number(repeat); pass++) {
    const start = performance.now();
    for (const bytes of coded) decode(bytes, isCloud, attributes);
    milliseconds = Math.min(milliseconds, performance.now() - start);
  }
  const bytes = coded.reduce((sum, own) => sum + own.length, 0);
  return { method, tolerance: grid.tolerance, bytes, seconds: milliseconds / 1000, file };
}

for (const name of fs.readdirSync(work).sort()) {
  const folder = path.join(work, name);
  if (!fs.existsSync(path.join(folder, 'case.json'))) continue;
  const about = JSON.parse(fs.readFileSync(path.join(folder, 'case.json'), 'utf8'));
  const frames = readFrames(folder, about);
  const results = [];
  for (const grid of about.grids) {
    for (const method of ['sequential', 'edgebreaker']) results.push(measure(folder, about, frames, grid, method));
  }
  fs.writeFileSync(path.join(folder, 'draco.json'), JSON.stringify(results));
  console.log(`draco: ${name}`);
}
