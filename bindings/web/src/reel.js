// An open reel and its instances, as the page sees them.

import { finite, misuse } from './errors.js'
import { Frame } from './frame.js'
import { REPEATS } from './protocol.js'

/** Returns the number of a clip by its number or name. */
export function clipNumber(clips, clip) {
    const number = typeof clip === 'string' ? clips.findIndex(({ name }) => name === clip) : clip
    if (number in clips) return number
    const known = clips.map(({ name }, i) => `${i} '${name}'`).join(', ')
    const asked = typeof clip === 'string' ? `'${clip}'` : clip
    throw misuse(`there is no clip ${asked}: ${known ? `the clips are ${known}` : 'the file has none'}`)
}

/** An instance of a reel, with a clock of its own; at first it is stopped at the first frame. */
export class Instance {
    constructor(reel, number) {
        this.reel = reel
        this.number = number
        /** Whether the values that never change have been delivered. */
        this.complete = false
        this.removed = false
        /** The last frame; its values are valid until the second tick after. */
        this.frame = null
        /** Called with each frame that is delivered. */
        this.onFrame = null
    }

    show(frame) {
        this.complete = true
        this.frame = frame
        this.onFrame?.(frame)
    }

    command(name, a, b) {
        return this.reel.decoder.call('command', this.number, name, a, b)
    }

    /** Returns the number of a frame if it exists. */
    frameNumber(frame) {
        const { frames } = this.reel.description
        if (Number.isInteger(frame) && frame >= 0 && frame < frames) return frame
        const known = frames > 0 ? `frames are 0 to ${frames - 1}` : 'the file has none'
        throw misuse(`there is no frame ${frame}: ${known}`)
    }

    /** Starts or continues; starts again after the end. Commands take effect at the next tick. */
    play() {
        return this.command('play')
    }
    pause() {
        return this.command('pause')
    }
    /** Goes back to the start, and is hidden. */
    stop() {
        return this.command('stop')
    }
    /** Jumps to a time, in seconds from the first frame. */
    async seek(seconds) {
        return this.command('seek', finite('seek: seconds', seconds))
    }
    async seekFrame(frame) {
        return this.command('seekFrame', this.frameNumber(frame))
    }
    /** Sets the rate in seconds of animation per second; negative plays backwards. */
    async rate(rate) {
        return this.command('rate', finite('rate', rate))
    }
    /** `once`, `loop`, `pingPong` or `cycle`; true for `loop`, false for `once`. */
    async repeat(how) {
        const name = how === true ? 'loop' : how === false ? 'once' : how
        if (!(name in REPEATS)) throw misuse(`repeat is ${Object.keys(REPEATS).join(', ')}, not ${how}`)
        return this.command('repeat', REPEATS[name])
    }
    /** Plays only the frames from `first` to `last`. */
    async frames(first, last) {
        const range = [this.frameNumber(first), this.frameNumber(last)]
        if (last < first) throw misuse(`frames: the last one, ${last}, comes before the first, ${first}`)
        return this.command('frames', ...range)
    }
    interpolate(on) {
        return this.command('interpolate', on ? 1 : 0)
    }
    /** Shows every frame (1), every second one (2), or only keys, every 16th (16): the rest is neither read nor decoded. */
    frameStep(step) {
        return this.command('frameStep', step)
    }
    /** Shows or hides it; the time of a hidden instance goes on, but nothing is read or decoded for it. */
    visible(on) {
        return this.command('visible', on ? 1 : 0)
    }

    /**
     * Returns its frame, once all of it is decoded; it should not be playing. `all`: with values that never
     * change.
     */
    async shown(all = false) {
        return this.take(await this.reel.decoder.call('shown', this.number, all))
    }

    /** Makes a frame of its bytes. */
    take(bytes) {
        return new Frame(this.number, bytes)
    }

    /** A single frame by its number; the promise resolves when it is decoded. */
    async still(frame, all = false) {
        this.frameNumber(frame)
        await Promise.all([this.command('pause'), this.command('interpolate', 0), this.command('seekFrame', frame)])
        return this.shown(all)
    }

    remove() {
        this.removed = true
        this.reel.instances = this.reel.instances.filter(other => other !== this)
        return this.reel.decoder.call('remove', this.number)
    }
}

/** Returns sorted ranges with one more; adjacent ones are merged. */
function withRange(ranges, offset, size) {
    const out = []
    let [from, to] = [offset, offset + size]
    for (const [start, length] of ranges) {
        if (start + length < from || start > to) out.push([start, length])
        else [from, to] = [Math.min(from, start), Math.max(to, start + length)]
    }
    return [...out, [from, to - from]].sort((a, b) => a[0] - b[0])
}

/** An open file. */
export class Reel {
    constructor(decoder, { file, name, description }, onEvent) {
        this.decoder = decoder
        this.file = file
        this.name = name
        /** Properties of the file, its nodes and meshes. */
        this.description = description
        this.instances = []
        /** Called with events: failed reads, damage, progress. */
        this.onEvent = onEvent ?? null
        /** The current error; null if there is none. */
        this.error = null
        /** The reel's vertices on a graphics device, if they are made there. */
        this.card = null
        /** Ranges of bytes that were fetched, as offset and size. */
        this.ranges = []
        this.loaded = 0
    }

    happened(event) {
        if (event.event === 'recovered') this.error = null
        else if (event.event === 'cardFailed') this.card?.fail(event.error)
        else if (event.error) this.error = event.error
        if (event.event === 'progress') {
            this.ranges = withRange(this.ranges, event.offset, event.size)
            this.loaded = event.loaded
        }
        if (event.event !== 'cardFailed') this.onEvent?.(event)
    }

    /** The first instance. */
    get instance() {
        return this.instances[0]
    }

    /** Adds an instance. */
    async addInstance() {
        const instance = new Instance(this, await this.decoder.call('instance', this.file))
        this.instances.push(instance)
        return instance
    }

    /** Skeletons, clips, and the rigs that they move. */
    clips() {
        this.clipsRead ??= this.decoder.call('clips', this.file)
        return this.clipsRead
    }

    /** Cameras, with the values of their lenses in each frame. */
    cameras() {
        this.camerasRead ??= this.decoder.call('cameras', this.file)
        return this.camerasRead
    }

    /**
     * Local transforms of a clip's joints, the clip by number or name: rotation xyzw, translation and scale, ten
     * numbers per joint.
     */
    async pose(clip, seconds, wraps = true) {
        const { clips } = await this.clips()
        const number = clipNumber(clips, clip)
        return this.decoder.call('pose', this.file, number, finite('pose: seconds', seconds), wraps)
    }

    /** Closes the file, and the decoder if it was created for this file. */
    async close() {
        this.decoder.reels.delete(this.file)
        if (this.ownsDecoder) return this.decoder.dispose()
        await this.decoder.call('close', this.file)
    }
}
