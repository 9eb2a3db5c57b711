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

/** Plays in a loop, recording as a page does, and gives what went wrong, and whether it was late. */
export async function play(device, url, seconds, options = {}) {
    const gpu = await GpuReel.open(device, url, options)
    const other = await gpu.reel.addInstance()
    try {
        const late = []
        const seen = [new Set(), new Set()]
        const instances = [gpu.instance, other]
        instances.forEach((instance, i) => {
            instance.onFrame = frame => {
                late.push(frame.late)
                if (!frame.same) seen[i].add(`${frame.first} ${frame.blend}`)
            }
        })
        await other.seek(gpu.description.duration / 2)
        await Promise.all(instances.map(instance => instance.repeat('loop')))
        await Promise.all(instances.map(instance => instance.play()))
        for (let n = 0; n < 60 * seconds; n++) {
            await gpu.tick(1 / 60)
            const encoder = device.createCommandEncoder()
            gpu.record(encoder)
            device.queue.submit([encoder.finish()])
        }
        const buffers = instances.map(instance => gpu.vertices(0, instance).buffer)
        // What is not recorded is not decoded further, and nothing of it is lost.
        await gpu.tick(1 / 60)
        const [steps, moment] = [gpu.steps, gpu.instance.frame]
        await gpu.tick(1 / 60)
        const kept = gpu.steps === steps && gpu.instance.frame === moment
        gpu.submit()
        // What an instance had goes with it.
        const count = gpu.onDevice.buffers.size
        await other.remove()
        await gpu.tick(1 / 60)
        gpu.submit()
        const gone = gpu.vertices(0, other) === null && gpu.onDevice.buffers.size < count
        await device.queue.onSubmittedWorkDone()
        const error = gpu.error?.message ?? null
        return { late, seen: seen.map(set => set.size), own: buffers[0] !== buffers[1], kept, gone, error }
    } finally {
        await gpu.dispose()
    }
}

/** A device that is lost, and another. */
export async function lose(url) {
    const device = await newDevice()
    const gpu = await GpuReel.open(device, url, { attributes: PLAIN })
    const reel = await open(url, { exact: true, worker: false })
    const farthest = { position: 0, degrees: 0, sign: 0, uv: 0, colour: 0 }
    try {
        await gpu.still(3)
        gpu.submit()
        device.destroy()
        await device.lost
        await new Promise(resolve => setTimeout(resolve))
        const lost = gpu.error?.class
        const recorded = (() => {
            try {
                gpu.record(null)
                return null
            } catch (error) {
                return error.class
            }
        })()
        await gpu.tick(1 / 60)
        await gpu.restore(await newDevice())
        const restored = gpu.error
        await gpu.still(4)
        gpu.submit()
        await compare(gpu, 0, await reel.instance.still(4, true), farthest)
        return { lost, recorded, restored, farthest }
    } finally {
        await Promise.all([gpu.dispose(), reel.close()])
    }
}

/** How far positions of one frame are from those of another: what a comparison that sees nothing would not tell. */
export async function apart(device, url, [own, theirs]) {
    const gpu = await GpuReel.open(device, url, { attributes: PLAIN })
    const reel = await open(url, { exact: true, worker: false })
    const farthest = { position: 0, degrees: 0, sign: 0, uv: 0, colour: 0 }
    try {
        await gpu.still(own)
        gpu.submit()
        await compare(gpu, 0, await reel.instance.still(theirs, true), farthest)
        return farthest
    } finally {
        await Promise.all([gpu.dispose(), reel.close()])
    }
}

/** Vertices of the moment before, and those of now. */
export async function previous(device, url) {
    const gpu = await GpuReel.open(device, url, { previous: true })
    try {
        const read = async which => {
            const own = gpu.vertices(0)
            return [...new Uint32Array(await readBack(device, own.buffer, own[which], own.size))].join()
        }
        await gpu.still(2)
        gpu.submit()
        const before = await read('offset')
        await gpu.still(3)
        gpu.submit()
        return { kept: (await read('previousOffset')) === before, moved: (await read('offset')) !== before }
    } finally {
        await gpu.dispose()
    }
}

/** The class of the error of opening and showing a file with these options. */
export async function refused(device, url, options) {
    let gpu = null
    try {
        gpu = await GpuReel.open(device, url, options)
        await gpu.still(0)
        return null
    } catch (error) {
        return `${error.class}: ${error.message}`
    } finally {
        await gpu?.dispose()
    }
}

/** What a device draws of a file's vertices, white on black, seen by a camera: whether each pixel is covered. */
export async function renderFrame(device, url, frame, { eye, target, angle, size: [width, height] }) {
    const gpu = await GpuReel.open(device, url)
    try {
        const shown = await gpu.still(frame)
        const { RENDER_ATTACHMENT, COPY_SRC } = GPUTextureUsage
        const texture = device.createTexture({ size: [width, height], format: 'rgba8unorm', usage: RENDER_ATTACHMENT | COPY_SRC })
        const code = `@group(0) @binding(0) var<uniform> m: mat4x4f;
            @vertex fn vertex(@location(0) p: vec3f) -> @builtin(position) vec4f { return m * vec4f(p, 1.0); }
            @fragment fn fragment() -> @location(0) vec4f { return vec4f(1.0); }`
        const module = device.createShaderModule({ code })
        const { layout } = gpu
        const position = layout.attributes.find(({ what }) => what === 'position')
        const attributes = [{ shaderLocation: 0, offset: position.offset, format: position.format }]
        const pipeline = device.createRenderPipeline({
            layout: 'auto',
            vertex: { module, buffers: [{ arrayStride: layout.stride, attributes }] },
            fragment: { module, targets: [{ format: 'rgba8unorm' }] },
        })
        const camera = new THREE.PerspectiveCamera(angle, width / height, 0.01, 1e5)
        camera.coordinateSystem = THREE.WebGPUCoordinateSystem
        camera.position.set(...eye)
        camera.lookAt(...target)
        camera.updateMatrixWorld()
        camera.updateProjectionMatrix()
        const encoder = device.createCommandEncoder()
        gpu.record(encoder)
        const view = texture.createView()
        const pass = encoder.beginRenderPass({
            colorAttachments: [{ view, clearValue: [0, 0, 0, 1], loadOp: 'clear', storeOp: 'store' }],
        })
        pass.setPipeline(pipeline)
        gpu.description.nodes.forEach(({ mesh }, node) => {
            const { visible, world } = shown.nodes[node]
            if (mesh === null || !visible) return
            const own = gpu.vertices(mesh)
            const matrix = new THREE.Matrix4().set(...world, 0, 0, 0, 1)
            matrix.premultiply(camera.matrixWorldInverse).premultiply(camera.projectionMatrix)
            const uniform = device.createBuffer({ size: 64, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST })
            device.queue.writeBuffer(uniform, 0, Float32Array.from(matrix.elements))
            const entries = [{ binding: 0, resource: { buffer: uniform } }]
            pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }))
            pass.setVertexBuffer(0, own.buffer, own.offset, own.size)
            pass.setIndexBuffer(own.indices, 'uint32')
            for (const { what, mesh: of, set, values } of shown.sections) {
                if (what !== 'ranges' || of !== mesh || set > 0) continue
                for (let i = 0; i < values.length; i += 3) pass.drawIndexed(values[i + 1], 1, values[i])
            }
        })
        pass.end()
        const bytesPerRow = Math.ceil((4 * width) / 256) * 256
        const buffer = device.createBuffer({ size: bytesPerRow * height, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST })
        encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow }, [width, height])
        device.queue.submit([encoder.finish()])
        const pixels = new Uint8Array(await readBack(device, buffer, 0, bytesPerRow * height))
        return Array.from({ length: width * height }, (_, i) => {
            return pixels[Math.floor(i / width) * bytesPerRow + 4 * (i % width)] > 127 ? 1 : 0
        })
    } finally {
        await gpu.dispose()
    }
}
