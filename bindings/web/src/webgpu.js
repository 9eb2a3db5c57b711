// Reels on a graphics device: the module decodes and lists what is to be done, the device makes the vertices.

import { gpuModuleAddress } from './assets.js'
import { Decoder } from './decoder.js'
import { MeshreelError, misuse } from './errors.js'
import { Steps } from './steps.js'

export { gpuModuleAddress }

const WHATS = ['position', 'normal', 'tangent', 'uv', 'colour', 'velocity']
// By the number that the module has for it: name, bytes.
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
/** An offset or a size is a number of 32 bits. */
const MAX_U32 = 0xffffffff

/** `[what, format]` of each attribute, one behind the other: bytes of a vertex (`least` or more), and where each is. */
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

/** What a file on a card is opened with (`CardOptions::read` in `wasm/src/card.rs`). */
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
     * Opens a reel for a device. `input` and options are those of `open`; besides: `attributes`, `stride`, `ring`,
     * `previous`, `units`, `ahead`, `indices`.
     */
    static async open(device, input, options = {}) {
        const { attributes, stride, ring, previous, units, ahead, indices, ...others } = options
        const { decoder: given, memory, heap, resident, readSize, worker, shared, module, ...rest } = others
        const own = { memory, heap, resident, readSize, worker, shared, module: module ?? gpuModuleAddress() }
        // Attributes may depend on what is in the file: then its vertices are told when it is open.
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
        /** Bytes of a vertex, and where its attributes are. */
        this.layout = layout
        /** Why nothing can be recorded: a device that is lost, or has too little. */
        this.failure = null
        /** Steps that were not recorded yet. */
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
    /** What fails now: the device, connection, damage. */
    get error() {
        return this.failure ?? this.reel.error
    }

    fail(error) {
        this.failure ??= error
        this.reel.onEvent?.({ event: 'cardFailed', file: this.reel.file, error })
    }

    // What the decoder asks and tells.

    /** Whether it takes no steps now: it was not recorded what it has, or it cannot be. */
    get waits() {
        return this.steps !== null || this.failure !== null
    }

    take(bytes) {
        // Where nothing is new there is nothing to wait for.
        this.steps = bytes.length > 0 ? bytes : null
    }

    // What users call.

    /** `dt` seconds have passed. With a decoder that several reels share, `decoder.tick` is called instead. */
    tick(dt) {
        return this.reel.decoder.tick(dt)
    }

    /**
     * Does what is new: writes go to the device's queue, passes into `encoder`, which is submitted before the next call.
     * Bytes that went up, and dispatches.
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

    /** The same in an encoder of its own, submitted at once. */
    submit() {
        const encoder = this.device.createCommandEncoder({ label: 'meshreel' })
        const done = this.record(encoder)
        this.device.queue.submit([encoder.finish()])
        return done
    }

    /** What an instance shows when all of it is decoded, which is then to be recorded; it should not be playing. */
    async shown(instance = this.instance) {
        if (this.failure) throw this.failure
        if (this.steps !== null) throw misuse('what was decoded before is not recorded yet')
        const [[, bytes], [, steps]] = await this.reel.decoder.call('shownOnCard', instance.number, true)
        this.take(steps)
        return instance.take(bytes)
    }

    /** A frame by its number, alone. */
    async still(frame, instance = this.instance) {
        await Promise.all([instance.pause(), instance.interpolate(false), instance.seekFrame(frame)])
        return this.shown(instance)
    }

    /**
     * Vertices of a mesh as an instance shows it: buffer, offset, bytes and count, which is 0 where it was not shown yet;
     * `previousOffset`, where they were before; indices, of 32 bits, and how many. Null before anything is recorded.
     */
    vertices(mesh, instance = this.instance) {
        return this.onDevice.vertices.get(instance.number)?.get(mesh) ?? null
    }

    /** Indices of the levels of detail of a mesh: first and count of each. None of a mesh whose triangles change. */
    levels(mesh) {
        return this.onDevice.levels.get(mesh) ?? []
    }

    /** Goes on with another device; what is shown is there with the next tick. */
    async restore(device) {
        const { decoder, file } = this.reel
        await decoder.ticking
        await decoder.call('renewCard', file, maxBindingBytes(device), GROUP)
        this.onDevice.destroy()
        this.steps = null
        this.use(device)
    }

    /** Gives up the reel, and what it has on the device. */
    dispose() {
        this.disposed = true
        this.onDevice.destroy()
        return this.reel.close()
    }
}
