// Reels on the device of a WebGPURenderer: the vertices are made in the buffers that the renderer draws from.

import { InterleavedBuffer, InterleavedBufferAttribute } from 'three'
import { MeshreelError } from './errors.js'
import { ReelGroup } from './three-group.js'
import { GpuReel } from './webgpu.js'

// The attributes that three.js can draw: name, format, array type, and numbers per item.
const ATTRIBUTES = {
    position: ['position', 'float32x3', Float32Array, 3],
    normal: ['normal', 'float32x3', Float32Array, 3],
    uv: ['uv', 'float32x2', Float32Array, 2],
    tangent: ['tangent', 'float32x4', Float32Array, 4],
    colour: ['color', 'unorm8x4', Uint8Array, 4],
}

/** Whether a mesh has an attribute. */
const has = (record, what) =>
    record.streams.some(({ semantic, set }) => {
        if (semantic === 'qtangent') return what === 'normal' || what === 'tangent'
        return set === 0 && semantic === what
    })

/**
 * The attributes of the meshes of a file. Meshes share buffers, and the renderer binds each buffer from its
 * start, so indices count from there: the bytes of a vertex must divide 256, the alignment of a mesh in its
 * buffer.
 */
function attributesOf({ meshes }) {
    const attributes = Object.entries(ATTRIBUTES)
        .filter(([what]) => meshes.some(record => has(record, what)))
        .map(([what, [, format]]) => [what, format])
    const bytes = attributes.reduce((sum, [, format]) => sum + (format === 'unorm8x4' ? 4 : 4 * Number(format.at(-1))), 0)
    return { attributes, stride: [16, 32, 64].find(stride => stride >= bytes) }
}

/** Opens a reel for a loader that has a renderer. */
export async function openGroup(loader, input, options) {
    const { device } = loader.renderer.backend
    const gpu = await GpuReel.open(device, input, { ...options, attributes: attributesOf, indices: true })
    const group = new GpuReelGroup(gpu, loader.renderer, loader.material)
    try {
        await group.begin()
        return group
    } catch (error) {
        await group.dispose()
        throw error
    }
}

/** A reel in a scene whose vertices are on the renderer's device alone. */
export class GpuReelGroup extends ReelGroup {
    constructor(gpu, renderer, material) {
        super(gpu.reel, material)
        this.type = 'GpuReelGroup'
        this.gpu = gpu
        this.renderer = renderer
        /** The attributes of three.js, by the device's buffer and array type. */
        this.shared = new Map()
    }

    async begin() {
        const { instance, description } = this.reel
        await instance.pause()
        if (description.frames > 0) {
            const frame = await this.gpu.shown()
            this.gpu.submit()
            this.build(frame)
        }
        instance.complete = true
        instance.onFrame = frame => this.apply(frame)
    }

    get error() {
        return this.gpu.error
    }

    /** Makes the buffer of a batch of meshes known to three.js; the existing GPU buffer is used. */
    bufferOf({ buffer }, Numbers) {
        const own = this.shared.get(buffer) ?? new Map()
        this.shared.set(buffer, own)
        if (!own.has(Numbers)) {
            const { stride } = this.gpu.layout
            const made = new InterleavedBuffer(new Numbers(0), stride / Numbers.BYTES_PER_ELEMENT)
            made.count = Math.floor(buffer.size / stride)
            // Without this the renderer would create a buffer.
            this.renderer.backend.get(made).buffer = buffer
            own.set(Numbers, made)
        }
        return own.get(Numbers)
    }

    buildAttributes(part) {
        const { geometry, record, number } = part
        const vertices = this.gpu.vertices(number)
        for (const { what, offset } of this.gpu.layout.attributes) {
            if (!has(record, what)) continue
            const [name, , Numbers, size] = ATTRIBUTES[what]
            const buffer = this.bufferOf(vertices, Numbers)
            const at = offset / Numbers.BYTES_PER_ELEMENT
            geometry.setAttribute(name, new InterleavedBufferAttribute(buffer, size, at, Numbers !== Float32Array))
        }
        part.base = vertices.offset / this.gpu.layout.stride
    }

    indexArray(part, total) {
        return new Uint32Array(total)
    }

    indexValues({ base }, values) {
        return values.map(index => index + base)
    }

    apply(frame) {
        if (!this.gpu.failure) this.gpu.submit()
        super.apply(frame)
    }

    async still(frame) {
        this.apply(await this.gpu.still(frame))
    }

    playClip() {
        const what = 'clips pose skins, which are not made on a graphics device: load the file without `renderer`'
        return Promise.reject(new MeshreelError('Unsupported', what))
    }

    async dispose() {
        await super.dispose()
        await this.gpu.dispose()
    }
}
