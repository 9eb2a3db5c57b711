// Reels on a graphics device: the module decodes and writes a list of steps, and the device makes the
// vertices.

import { gpuModuleAddress } from './assets.js'
import { Decoder } from './decoder.js'
import { MeshreelError, misuse } from './errors.js'
import { Steps } from './steps.js'

export { gpuModuleAddress }

const WHATS = ['position', 'normal', 'tangent', 'uv', 'colour', 'velocity']
// Name and bytes of formats, by the number that the module has for each.
const FORMATS = [
    ['float32x2', 8],
    ['float32x3', 12],
    ['float32x4', 16],
    ['float16x2', 4],
    ['float16x4', 8],
    ['unorm8x4', 4],
    ['unorm16x4', 8],
    ['snorm16x2', 4],
    ['snorm16x4', 8],
]
const LAYOUT = [
    ['position', 'float32x3'],
    ['normal', 'float32x3'],
    ['uv', 'float32x2'],
]
const UNITS = new Map([[false, 0], ['auto', 1], [true, 2]])
/** Invocations of a workgroup. */
const GROUP = 256
/** Offsets and sizes are 32-bit numbers. */
const MAX_U32 = 0xffffffff

/**
 * The bytes of a vertex (at least `least`) and the offset of each attribute, from `[what, format]` in order.
 */
export function vertexLayout(attributes = LAYOUT, least = 0) {
    let stride = 0
    const list = attributes.map(([what, format]) => {
        const [whatNumber, number] = [WHATS.indexOf(what), FORMATS.findIndex(([name]) => name === format)]
        if (whatNumber < 0) throw misuse(`an attribute is ${WHATS.join(', ')}, not ${what}`)
        if (number < 0) throw misuse(`a format is ${FORMATS.map(([name]) => name).join(', ')}, not ${format}`)
        const offset = stride
        stride += FORMATS[number][1]
        return { what, format, offset, numbers: [whatNumber, number, offset] }
    })
    return { stride: Math.max(stride, least), attributes: list }
}

/** The options for a file on a card (`CardOptions::read` in `wasm/src/card.rs`). */
function cardWords(layout, { ring = 64 << 20, previous = false, units = 'auto', ahead = 1 << 20, indices = false }) {
    if (!UNITS.has(units)) throw misuse(`units is true, false or 'auto', not ${units}`)
    const flags = (previous ? 1 : 0) | (indices ? 2 : 0)
    const head = [Math.min(ring, MAX_U32), flags, UNITS.get(units), Math.min(ahead, MAX_U32), layout.stride]
    return Uint32Array.from([...head, ...layout.attributes.flatMap(({ numbers }) => numbers)])
}

function maxBindingBytes(device) {
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits
    return Math.min(maxStorageBufferBindingSize, maxBufferSize, MAX_U32)
}

/** A reel whose vertices a graphics device makes. */
export class GpuReel {
    /**
     * Opens a reel for a device. `input` and options are those of `open`; additional options: `attributes`,
     * `stride`, `ring`, `previous`, `units`, `ahead`, `indices`.
     */
    static async open(device, input, options = {}) {
        const { attributes, stride, ring, previous, units, ahead, indices, ...others } = options
        const { decoder: given, memory, heap, resident, readSize, worker, shared, module, ...rest } = others
        const own = { memory, heap, resident, readSize, worker, shared, module: module ?? gpuModuleAddress() }
        // Attributes may depend on the file: then they are set after it is open.
        const asked = typeof attributes === 'function' ? undefined : attributes
        const card = layout => ({
            words: cardWords(layout, { ring, previous, units, ahead, indices }),
            most: maxBindingBytes(device),
            group: GROUP,
        })
        let layout = vertexLayout(asked, stride)
        const first = card(layout)
        const decoder = given ?? (await Decoder.create(own))
        try {
            const reel = await decoder.open(input, { ...rest, exact: true, card: first })
            reel.ownsDecoder = !given
            if (asked !== attributes) {
                const { attributes: list, stride } = attributes(reel.description)
                layout = vertexLayout(list, stride)
                await decoder.call('openCard', reel.file, card(layout))
            }
            return new GpuReel(device, reel, layout)
        } catch (error) {
            if (!given) decoder.dispose()
            throw error
        }
    }

    constructor(device, reel, layout) {
        this.reel = reel
        /** The bytes of a vertex, and its attributes with their offsets. */
        this.layout = layout
        /** The error that keeps passes from being recorded: the device is lost, or has too little memory. */
        this.failure = null
        /** Steps that have not been recorded yet. */
        this.steps = null
        this.disposed = false
        reel.card = this
        this.use(device)
    }

    use(device) {
        this.device = device
        this.onDevice = new Steps(device)
        this.failure = null
        device.lost.then(({ message, reason }) => {
            if (this.device !== device || this.disposed) return
            const what = `the graphics device was lost (${message || reason}): take another with restore`
            this.fail(new MeshreelError('Io', what))
        })
    }

    /** The first instance. */
    get instance() {
        return this.reel.instance
    }
    get description() {
        return this.reel.description
    }
    /** The current error: device, connection, damage. */
    get error() {
        return this.failure ?? this.reel.error
    }

    fail(error) {
        this.failure ??= error
        this.reel.onEvent?.({ event: 'cardFailed', file: this.reel.file, error })
    }

    // Called by the decoder.

    /** Whether it takes no steps now: earlier ones have not been recorded yet, or cannot be. */
    get waits() {
        return this.steps !== null || this.failure !== null
    }

    take(bytes) {
        // Without new steps there is nothing to wait for.
        this.steps = bytes.length > 0 ? bytes : null
    }

    // Called by users.

    /** Advances by `dt` seconds. With a decoder that several reels share, call `decoder.tick` instead. */
    tick(dt) {
        return this.reel.decoder.tick(dt)
    }

    /**
     * Carries out the new steps: writes go to the device's queue, passes into `encoder`, which must be
     * submitted before the next call. Returns the number of uploaded bytes and of dispatches.
     */
    record(encoder) {
        if (this.disposed) throw misuse('the reel was disposed of')
        if (this.failure) throw this.failure
        if (this.steps === null) return { bytes: 0, dispatches: 0 }
        const { bytes, dispatches, failed } = this.onDevice.run(this.steps, encoder)
        this.reel.decoder.giveBack(this.steps)
        this.steps = null
        const { device } = this
        failed.then(error => error && this.device === device && this.fail(error))
        return { bytes, dispatches }
    }

    /** As `record`, with an encoder of its own that is submitted at once. */
    submit() {
        const encoder = this.device.createCommandEncoder({ label: 'meshreel' })
        const done = this.record(encoder)
        this.device.queue.submit([encoder.finish()])
        return done
    }

    /**
     * Returns the frame of an instance, once all of it is decoded; record it then. The instance should not be
     * playing.
     */
    async shown(instance = this.instance) {
        if (this.failure) throw this.failure
        if (this.steps !== null) throw misuse('what was decoded before is not recorded yet')
        const [[, bytes], [, steps]] = await this.reel.decoder.call('shownOnCard', instance.number, true)
        this.take(steps)
        return instance.take(bytes)
    }

    /** A single frame by its number. */
    async still(frame, instance = this.instance) {
        await Promise.all([instance.pause(), instance.interpolate(false), instance.seekFrame(frame)])
        return this.shown(instance)
    }

    /**
     * The vertices of a mesh as an instance shows it: buffer, offset, bytes and count (0 if it has not been
     * shown yet); `previousOffset`, their offset at the moment before; the 32-bit indices, and their number.
     * Null before anything is recorded.
     */
    vertices(mesh, instance = this.instance) {
        return this.onDevice.vertices.get(instance.number)?.get(mesh) ?? null
    }

    /** The index ranges of a mesh's LOD levels: first and count of each. Empty if the triangles change. */
    levels(mesh) {
        return this.onDevice.levels.get(mesh) ?? []
    }

    /** Continues on another device; its buffers are filled with the next tick. */
    async restore(device) {
        const { decoder, file } = this.reel
        await decoder.ticking
        await decoder.call('renewCard', file, maxBindingBytes(device), GROUP)
        this.onDevice.destroy()
        this.steps = null
        this.use(device)
    }

    /** Closes the reel, and destroys its buffers on the device. */
    dispose() {
        this.disposed = true
        this.onDevice.destroy()
        return this.reel.close()
    }
}
