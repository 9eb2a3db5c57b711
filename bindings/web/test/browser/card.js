// What a graphics device has made, in the page: read back, held against the frames of the processor, and drawn.

import { open } from 'meshreel'
import { GpuReel } from 'meshreel/webgpu'

/** A device; null where this browser has none. Within the limits that all have, which is what it gives if none are asked for. */
export async function newDevice() {
    const adapter = await navigator.gpu?.requestAdapter()
    return adapter ? adapter.requestDevice() : null
}

/** Bytes of a buffer, from an offset on. */
async function readBack(device, buffer, offset, size) {
    const { COPY_DST, MAP_READ } = GPUBufferUsage
    const target = device.createBuffer({ size, usage: COPY_DST | MAP_READ })
    const encoder = device.createCommandEncoder()
    encoder.copyBufferToBuffer(buffer, offset, target, 0, size)
    device.queue.submit([encoder.finish()])
    await target.mapAsync(GPUMapMode.READ)
    const bytes = target.getMappedRange().slice(0)
    target.destroy()
    return bytes
}

/** Everything that can be written, in floats. */
export const PLAIN = [
    ['position', 'float32x3'],
    ['normal', 'float32x3'],
    ['tangent', 'float32x4'],
    ['uv', 'float32x2'],
    ['velocity', 'float32x3'],
    ['colour', 'unorm8x4'],
]

/** Angle between two directions, in degrees. */
function angle(a, b) {
    const [x, y] = [Math.hypot(...a), Math.hypot(...b)]
    if (x === 0 || y === 0) return x === y ? 0 : 180
    // Of what is nearly the same the sine of the half says more than the cosine.
    const apart = Math.hypot(...a.map((v, k) => v / x - b[k] / y))
    return (2 * Math.asin(Math.min(1, apart / 2)) * 180) / Math.PI
}

/** How far the vertices of a mesh are from those of the processor; `farthest` takes the largest of each. */
async function compare(gpu, mesh, frame, farthest) {
    const found = gpu.vertices(mesh)
    const find = what => frame.find(what, mesh)
    const position = find('position')
    if (found.count !== position.count) throw new Error(`mesh ${mesh} has ${found.count} vertices, not ${position.count}`)
    if (found.count === 0) return
    const { stride, attributes } = gpu.layout
    const bytes = await readBack(gpu.device, found.buffer, found.offset, found.count * stride)
    const [floats, words] = [new Float32Array(bytes), stride / 4]
    const at = Object.fromEntries(attributes.map(({ what, offset }) => [what, offset / 4]))
    const { bounds } = gpu.description.meshes[mesh]
    const extent = bounds.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-20)
    const [normal, tangent, uv, colour] = ['normal', 'tangent', 'uv', 'colour'].map(find)
    const differ = (what, a, b, scale) => {
        const apart = Math.abs(a - b) / scale
        // What is no number is the farthest of all.
        if (!(apart <= farthest[what])) farthest[what] = Number.isNaN(apart) ? Infinity : apart
    }
    for (let v = 0; v < found.count; v++) {
        const own = (what, size) => floats.subarray(v * words + at[what], v * words + at[what] + size)
        const theirs = (section, size) => section.values.subarray(section.size * v, section.size * v + size)
        own('position', 3).forEach((value, k) => differ('position', value, position.values[3 * v + k], extent))
        if (normal) differ('degrees', angle(own('normal', 3), theirs(normal, 3)), 0, 1)
        if (tangent) {
            differ('degrees', angle(own('tangent', 3), theirs(tangent, 3)), 0, 1)
            differ('sign', own('tangent', 4)[3], theirs(tangent, 4)[3], 1)
        }
        if (uv && uv.set === 0) own('uv', 2).forEach((value, k) => differ('uv', value, uv.values[2 * v + k], 1))
        if (colour && colour.set === 0) {
            const own = new Uint8Array(bytes, v * stride + 4 * at.colour, 4)
            own.forEach((value, k) => differ('colour', value / 255, Math.min(1, Math.max(0, colour.values[4 * v + k])), 1))
        }
    }
    const indices = find('indices')
    const own = new Uint32Array(await readBack(gpu.device, found.indices, 0, Math.max(4, 4 * found.indexCount)))
    if (indices && (found.indexCount !== indices.count || indices.values.some((index, i) => index !== own[i]))) {
        throw new Error(`mesh ${mesh} has other indices`)
    }
}

/**
 * Plays a file on both, at frames and between them, and gives how far they are apart at most, and what was done.
 * `moments`: `[frame, between]`.
 */
export async function parity(device, url, moments, options = {}) {
    const gpu = await GpuReel.open(device, url, { attributes: PLAIN, ...options })
    const reel = await open(url, { exact: true, worker: false })
    const farthest = { position: 0, degrees: 0, sign: 0, uv: 0, colour: 0 }
    let [compared, bytes, dispatches] = [0, 0, 0]
    try {
        const { frames, times, meshes, nodes } = reel.description
        for (const [number, between] of moments) {
            const frame = Math.min(frames - 1, number < 0 ? frames + number : number)
            const [from, to] = [times[frame], times[Math.min(frame + 1, frames - 1)]]
            const show = async instance => {
                await instance.pause()
                await instance.interpolate(between > 0)
                if (between > 0) await instance.seek(from + (to - from) * between - times[0])
                else await instance.seekFrame(frame)
            }
            await Promise.all([show(gpu.instance), show(reel.instance)])
            const [own, theirs] = [await gpu.shown(), await reel.instance.shown(true)]
            if (own.first !== theirs.first || own.second !== theirs.second || own.blend !== theirs.blend) {
                throw new Error(`frames ${own.first} and ${own.second} for ${theirs.first} and ${theirs.second}`)
            }
            const done = gpu.submit()
            bytes += done.bytes
            dispatches += done.dispatches
            for (let mesh = 0; mesh < meshes.length; mesh++) {
                const seen = nodes.some((node, n) => node.mesh === mesh && theirs.nodes[n].visible)
                if (!seen || !theirs.find('position', mesh)) continue
                await compare(gpu, mesh, theirs, farthest)
                compared++
            }
        }
        const methods = [...new Set(meshes.map(({ method }) => method))]
        return { farthest, compared, bytes, dispatches, methods, error: gpu.error?.message ?? null }
    } finally {
        await Promise.all([gpu.dispose(), reel.close()])
    }
}
