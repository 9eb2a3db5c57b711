// The decoder itself: the module, the sources that it reads from, and calls that must be repeated when bytes
// arrive. It runs in a worker or, if there is none, in the page; in both cases its methods are called by name
// (`decoder.js`, `worker.js`).

import { describe, describeCameras, describeClips } from './describe.js'
import { MeshreelError, errorOf, errorToData, misuse } from './errors.js'
import { COMMANDS, EVENTS } from './protocol.js'
import { Reader } from './reader.js'
import { FIRST, openSource } from './source.js'
import { LACKS, Wasm, compile } from './wasm.js'

/** The largest number of simultaneous requests, for all files. */
const REQUESTS = 6
/** The most bytes that are requested beyond what opening needs. */
const MAX_AHEAD_BYTES = 1 << 20
const SAME = 2
const LATE = 1

export class Core {
    /** `emit(event)` reports events; `shared`: frames are delivered in shared memory. */
    constructor(emit, { shared = false } = {}) {
        this.emit = emit
        this.shared = shared
        this.files = new Map()
        /** Openings under way, by number. */
        this.openings = new Map()
        this.slots = new Map()
        this.spare = []
        this.queue = []
        this.running = 0
        this.waiters = []
    }

    async start({ module, ...sizes }) {
        this.wasm = new Wasm(await compile(module), sizes)
    }

    // Files.

    async open(input, options = {}) {
        const { opening, ...rest } = options
        const abort = new AbortController()
        this.openings.set(opening, abort)
        try {
            return await this.openUntil(abort.signal, input, rest)
        } finally {
            this.openings.delete(opening)
        }
    }

    /** Ends an opening that is under way, by the number in its options. */
    abortOpening(opening) {
        this.openings.get(opening)?.abort()
    }

    async openUntil(signal, input, options) {
        const source = await openSource(input, { ...options, signal })
        if (source.size === 0) {
            throw new MeshreelError('Malformed', `${source.name}: the file is empty (0 bytes)`)
        }
        this.wasm.input(source.name)
        const number = this.wasm.call('add', source.size, options.exact ? 1 : 0)
        const file = { number, source, ahead: FIRST, end: -1, requests: 0, loaded: 0, closed: false }
        Object.assign(file, { failure: null, error: null, lost: null, opened: false })
        file.aborts = new Map()
        this.files.set(number, file)
        try {
            if (options.card) this.openCard(number, options.card)
            if (source.first) this.provide(file, 0, source.first)
            const description = await this.finish(file, signal)
            return { file: number, name: source.name, description }
        } catch (error) {
            this.close(number)
            throw error
        }
    }

    /**
     * Makes a file's vertices on a graphics device. May be called again with other options before the first
     * update.
     */
    openCard(number, { words, most, group }) {
        const file = this.file(number)
        if (!('meshreel_card' in this.wasm.exports)) throw misuse('this module has no plan of a graphics device')
        this.wasm.input(new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
        this.wasm.call('card', file.number, most, group)
        file.card = { turn: 0, shared: [] }
    }

    provide(file, offset, bytes) {
        file.loaded += bytes.length
        this.wasm.input(bytes)
        this.wasm.call('provide', file.number, offset)
        this.emit({ event: 'progress', file: file.number, offset, size: bytes.length, loaded: file.loaded })
    }

    async finish(file, signal) {
        while (this.wasm.call('open', file.number) === LACKS) await this.fetchWanted(file, signal)
        const description = describe(this.wasm.output())
        while (!file.opened) {
            this.wasm.call('tick', 0)
            this.pump()
            if (file.failure) throw file.failure
            if (!file.opened) await this.fetchWanted(file, signal)
        }
        return description
    }

    /** Fetches the blocks that opening lacks. Consecutive blocks are fetched in ever larger pieces. */
    async fetchWanted(file, signal) {
        if (file.closed) throw misuse('the file was closed')
        signal?.throwIfAborted()
        const count = this.wasm.call('wanted', file.number)
        if (count === 0) throw new MeshreelError('Panic', `${file.source.name}: it waits for nothing: this is a bug`)
        const r = new Reader(this.wasm.output())
        const ranges = Array.from({ length: count }, () => [r.f64(), r.f64()])
        const fetches = ranges.map(async ([offset, size]) => {
            file.ahead = offset === file.end ? Math.min(2 * file.ahead, MAX_AHEAD_BYTES) : FIRST
            const most = Math.min(Math.max(size, file.ahead), file.source.size - offset)
            file.end = offset + most
            file.requests++
            const bytes = await file.source.read(offset, most, signal)
            if (bytes.length === 0) throw new MeshreelError('Io', `${file.source.name}: it ends early`)
            this.provide(file, offset, bytes)
        })
        await Promise.all(fetches)
    }

    close(number) {
        const file = this.files.get(number)
        if (!file) return
        file.closed = true
        this.files.delete(number)
        this.queue = this.queue.filter(read => read.file !== file)
        file.aborts.forEach(abort => abort.abort())
        // Its number may be that of another file from now on.
        this.emit({ event: 'closed', file: number })
        if (this.wasm.dead) return
        this.wasm.call('close', number)
        this.wasm.call('tick', 0)
        this.pump()
    }

    /** Skeletons, clips and rigs. */
    async clips(number) {
        const file = this.file(number)
        while (this.wasm.call('clips', number) === LACKS) await this.fetchWanted(file)
        return describeClips(this.wasm.output())
    }

    /** Cameras, with the values of their lenses in each frame. */
    async cameras(number) {
        const file = this.file(number)
        while (this.wasm.call('cameras', number) === LACKS) await this.fetchWanted(file)
        return describeCameras(this.wasm.output())
    }

    pose(number, clip, seconds, wraps) {
        this.wasm.call('pose', number, clip, seconds, wraps ? 1 : 0)
        // The values of each joint: rotation, translation and scale, ten numbers.
        return new Float32Array(this.wasm.output().slice().buffer)
    }

    file(number) {
        const file = this.files.get(number)
        if (!file) throw misuse('the reel was closed')
        return file
    }

    // Instances.

    instance(file) {
        const number = this.wasm.call('instance', file)
        this.slots.set(number, { file, turn: 0, shared: [] })
        return number
    }

    remove(instance) {
        this.slots.delete(instance)
        this.wasm.call('remove', instance)
    }

    command(instance, name, a = 0, b = 0) {
        if (!(name in COMMANDS)) throw misuse(`there is no command ${name}`)
        this.wasm.call('command', instance, COMMANDS[name], a, b)
    }

    // Time.

    /**
     * Advances the player by `dt` seconds. Returns what these instances show now, as `[instance, bytes]`, and
     * the steps for the graphics device of these files, as `[file, bytes, true]`.
     */
    tick(dt, wanted, cards = []) {
        this.wasm.call('tick', dt)
        this.pump()
        const steps = cards.map(number => [number, this.steps(number), true])
        const frames = wanted.map(([instance, all]) => [instance, this.frame(instance, all)])
        return [...steps, ...frames].filter(([, bytes]) => bytes)
    }

    /** The steps of a file for the graphics device; null if there are none because of an error. */
    steps(number) {
        const file = this.files.get(number)
        if (!file) return null
        try {
            file.late = this.wasm.call('update_card', number)
            return this.handOut(file.card, false)
        } catch (error) {
            if (this.wasm.dead) throw error
            this.emit({ event: 'cardFailed', file: number, error: errorToData(error) })
            return null
        }
    }

    /** Makes the file's vertices on another device from now on. */
    renewCard(number, most, group) {
        this.wasm.call('renew_card', this.file(number).number, most, group)
    }

    /** As `shown`, for a file on a graphics device: the frame and the steps. */
    async shownOnCard(instance, all) {
        const frame = await this.shown(instance, all)
        const file = this.file(this.slots.get(instance).file)
        const late = this.wasm.call('update_card', file.number)
        const steps = this.handOut(file.card, false)
        if (late > 0) {
            const what = `${late} meshes lack units that the graphics device decodes (option units)`
            throw new MeshreelError('Limit', `${file.source.name}: ${what}`)
        }
        return [[instance, frame], [file.number, steps]]
    }

    /**
     * Returns the frame of an instance, once all of it is decoded. The instance should stand still; otherwise
     * its time passes in small steps.
     */
    async shown(instance, all) {
        const slot = this.slots.get(instance)
        if (!slot) throw misuse('the instance was removed')
        const file = this.file(slot.file)
        file.failure = null
        for (;;) {
            this.wasm.call('tick', 0)
            this.pump()
            if (this.wasm.call('frame', instance, all ? 1 : 0) === 1) {
                const flags = this.wasm.output()[12]
                if ((flags & LATE) === 0) return this.handOutFrame(slot)
            }
            if (file.failure) throw file.failure
            if (this.running === 0) {
                if (file.error) throw file.error
                const what = 'nothing of it can be shown: its heap may be too small (option heap)'
                throw new MeshreelError('Limit', `${file.source.name}: ${what}`)
            }
            await new Promise(resolve => this.waiters.push(resolve))
            this.file(slot.file)
        }
    }

    /** The bytes of an instance's frame; null if it shows nothing yet. */
    frame(instance, all) {
        const slot = this.slots.get(instance)
        if (!slot || this.wasm.call('frame', instance, all ? 1 : 0) === 0) return null
        return this.handOutFrame(slot)
    }

    handOutFrame(slot) {
        return this.handOut(slot, (this.wasm.output()[12] & SAME) !== 0)
    }

    /**
     * A copy of the output: in shared memory in one of two alternating buffers, otherwise in a buffer to be
     * transferred.
     */
    handOut(slot, small) {
        const output = this.wasm.output()
        if (this.shared && !small) {
            slot.turn ^= 1
            let place = slot.shared[slot.turn]
            if (!place || place.byteLength < output.length) {
                place = slot.shared[slot.turn] = new SharedArrayBuffer(Math.ceil(output.length / 4096) * 4096)
            }
            const bytes = new Uint8Array(place, 0, output.length)
            bytes.set(output)
            return bytes
        }
        const at = this.spare.findIndex(buffer => buffer.byteLength >= output.length)
        const buffer = at >= 0 && !small ? this.spare.splice(at, 1)[0] : new ArrayBuffer(output.length)
        const bytes = new Uint8Array(buffer, 0, output.length)
        bytes.set(output)
        return bytes
    }

    /** Takes back buffers of frames that are no longer needed. */
    recycle(buffers) {
        this.spare.push(...buffers)
        // One more than can be in use at once.
        this.spare.splice(0, Math.max(0, this.spare.length - 2 * this.slots.size - 1))
    }

    /** Bytes of files that were fetched, number of requests for opening, and bytes of memory in use. */
    statistics() {
        const files = [...this.files.values()].map(f => ({ file: f.number, loaded: f.loaded, requests: f.requests }))
        return { memory: this.wasm.memory.buffer.byteLength, files }
    }

    // Events and reads of the module.

    pump() {
        const count = this.wasm.call('events')
        const r = new Reader(this.wasm.output())
        for (let i = 0; i < count; i++) {
            const [kind, number, error] = [r.u32(), r.u32(), r.u32()]
            this.happened(EVENTS[kind], number, error, r.text())
        }
        this.wasm.call('reads')
        const reads = new Reader(this.wasm.output())
        const list = reads.list(() => [reads.u32(), reads.u32(), reads.f64(), reads.f64(), reads.f64()])
        for (const [number, read, offset, size, due] of list) {
            const file = this.files.get(number)
            if (file) this.queue.push({ file, read, offset, size, due })
        }
        const gone = new Set(reads.list(() => reads.u32()))
        this.queue = this.queue.filter(({ read }) => !gone.has(read))
        for (const file of this.files.values()) gone.forEach(read => file.aborts.get(read)?.abort())
        this.fetchReads()
    }

    happened(event, number, kind, message) {
        const file = this.files.get(number)
        const error = kind > 0 ? errorOf(kind, message) : null
        if (file && (event === 'opened' || event === 'noFrames')) file.opened = true
        // The error of the request says more than the one of the player.
        const told = event === 'readFailed' && file?.lost ? file.lost : error
        if (file && error) file.error = file.failure = told
        if (file && event === 'recovered') file.error = file.lost = null
        this.emit({ event, file: number, error: told && errorToData(told) })
    }

    /** Starts requests, the most urgent first. */
    fetchReads() {
        this.queue.sort((a, b) => a.due - b.due)
        while (this.running < REQUESTS && this.queue.length > 0) this.fetchRead(this.queue.shift())
    }

    async fetchRead({ file, read, offset, size }) {
        const abort = new AbortController()
        file.aborts.set(read, abort)
        this.running++
        let bytes = null
        try {
            bytes = await file.source.read(offset, size, abort.signal)
            file.loaded += bytes.length
        } catch (error) {
            if (error instanceof MeshreelError && !abort.signal.aborted) file.lost = error
        }
        this.running--
        file.aborts.delete(read)
        if (!file.closed && !this.wasm.dead) this.ended(file, read, bytes, offset)
        this.waiters.splice(0).forEach(resolve => resolve())
    }

    ended(file, read, bytes, offset) {
        try {
            if (bytes) this.wasm.input(bytes)
            this.wasm.call('end_read', file.number, read, bytes ? 1 : 0)
            if (bytes) {
                const { number, loaded } = file
                this.emit({ event: 'progress', file: number, offset, size: bytes.length, loaded })
            }
            // Decodes what has arrived, and finds what else to read.
            this.wasm.call('tick', 0)
            this.pump()
        } catch (error) {
            this.emit({ event: 'stopped', file: file.number, error: errorToData(error) })
        }
    }
}
