// The content of a file (`wasm/src/describe.rs`), its cameras, and its clips (`wasm/src/clips.rs`).

import { Reader } from './reader.js'

const NO_NUMBER = 0xffffffff
const UNITS = ['', 'm', 'cm', 'mm', 'in']
const VISIBILITY = ['always', 'never', 'animated']
const METHODS = ['static', 'soft', 'rigid', 'skinned', 'fluid', 'particles']
const KINDS = ['mesh', 'particles', 'curves']
const SEMANTICS = ['position', 'normal', 'qtangent', 'uv', 'colour', 'velocity', 'width', 'custom', 'custom', 'custom', 'custom']

const orNull = number => (number === NO_NUMBER ? null : number)

export function describe(bytes) {
    const r = new Reader(bytes)
    const generator = r.text()
    const unit = UNITS[r.u32()] ?? ''
    const fps = r.f64()
    const period = r.f64()
    const size = r.f64()
    const times = Float64Array.from({ length: r.u32() }, () => r.f64())
    const ranges = r.list(() => ({ name: r.text(), first: r.u32(), last: r.u32() }))
    const nodes = r.list(() => ({
        path: r.text(),
        parent: orNull(r.u32()),
        mesh: orNull(r.u32()),
        animated: r.u32() !== 0,
        visibility: VISIBILITY[r.u32()],
        reach: r.f32(),
    }))
    const meshes = r.list(() => mesh(r))
    const duration = times.length > 0 ? times[times.length - 1] - times[0] : 0
    return { generator, unit, fps, period, size, frames: times.length, duration, times, ranges, nodes, meshes }
}

function mesh(r) {
    const path = r.text()
    const method = METHODS[r.u32()]
    const kind = KINDS[r.u32()]
    const vertices = r.u32()
    const indices = r.u32()
    const bounds = r.floats(6)
    const side = r.f32()
    // Positions are 16-bit numbers in this cube, or floats.
    const cube = side > 0 ? { corner: bounds.slice(0, 3), side } : null
    const materials = r.list(() => ({ id: r.u32(), name: r.text(), first: r.u32(), count: r.u32() }))
    const streams = r.list(() => ({
        semantic: SEMANTICS[r.u32()],
        set: r.u32(),
        animated: r.u32() !== 0,
        name: r.text(),
        tolerance: r.f64(),
    }))
    return { path, method, kind, vertices, indices, bounds, cube, materials, streams }
}

/** Cameras (`wasm/src/cameras.rs`). */
export function describeCameras(bytes) {
    const r = new Reader(bytes)
    return r.list(() => ({
        path: r.text(),
        node: r.u32(),
        animated: r.u32() !== 0,
        lenses: r.list(() => ({
            focalLength: r.f32(),
            aperture: r.floats(2),
            apertureOffset: r.floats(2),
            squeeze: r.f32(),
            overscan: r.floats(4),
            fStop: r.f32(),
            focusDistance: r.f32(),
            shutter: r.floats(2),
            clipping: r.floats(2),
            orthographic: r.u32() !== 0,
            verticalAngle: r.f32(),
        })),
    }))
}

export function describeClips(bytes) {
    const r = new Reader(bytes)
    const skeletons = r.list(() => ({
        name: r.text(),
        joints: r.list(() => ({ name: r.text(), parent: orNull(r.u32()), rest: r.transform() })),
    }))
    const clips = r.list(() => {
        const [name, skeleton, samples, fps, start] = [r.text(), r.u32(), r.u32(), r.f64(), r.f64()]
        return { name, skeleton, samples, fps, start, duration: (samples - 1) / fps }
    })
    const rigs = r.list(() => {
        const [mesh, skeleton] = [r.u32(), r.u32()]
        const joints = r.list(() => r.u32())
        const inverseBind = joints.map(() => r.floats(12))
        // In the file, some vertices follow more joints than these four.
        const cut = r.u32() !== 0
        // Dual quaternions blend the transforms of joints.
        const dual = r.u32() !== 0
        const vertices = r.u32()
        const positions = r.floats(3 * vertices)
        const influences = new Uint16Array(4 * vertices)
        const weights = new Float32Array(4 * vertices)
        for (let v = 0; v < vertices; v++) {
            influences.set(r.words(4), 4 * v)
            weights.set(r.floats(4), 4 * v)
        }
        return { mesh, skeleton, joints, inverseBind, cut, dual, positions, influences, weights }
    })
    return { skeletons, clips, rigs }
}
