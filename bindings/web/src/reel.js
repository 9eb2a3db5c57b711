// An open reel and its instances, as the page has them.

import { finite, misuse } from './errors.js'
import { Frame } from './frame.js'
import { REPEATS } from './protocol.js'

/** Number of a clip by its number or name. */
export function clipNumber(clips, clip) {
    const number = typeof clip === 'string' ? clips.findIndex(({ name }) => name === clip) : clip
    if (number in clips) return number
    const known = clips.map(({ name }, i) => `${i} '${name}'`).join(', ')
    const asked = typeof clip === 'string' ? `'${clip}'` : clip
    throw misuse(`there is no clip ${asked}: ${known ? `the clips are ${known}` : 'the file has none'}`)
}

/** One showing of a reel, with a clock of its own: stopped at the first frame. */
export class Instance {
    constructor(reel, number) {
        this.reel = reel
        this.number = number
        /** What never changes was handed out. */
        this.complete = false
        this.removed = false
        /** The last frame; its values are lent until the second tick after. */
        this.frame = null
        /** Called with each frame that is handed out. */
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

    /** The number, where there is such a frame. */
    frameNumber(frame) {
        const { frames } = this.reel.description
        if (Number.isInteger(frame) && frame >= 0 && frame < frames) return frame
        const known = frames > 0 ? `frames are 0 to ${frames - 1}` : 'the file has none'
        throw misuse(`there is no frame ${frame}: ${known}`)
    }

    /** Goes on, or starts; starts anew after the end. Commands take effect at the next tick. */
    play() {
        return this.command('play')
    }
    pause() {
        return this.command('pause')
    }
    /** Back to the start, not shown. */
    stop() {
        return this.command('stop')
    }
    /** Jumps to seconds from the first frame. */
    async seek(seconds) {
        return this.command('seek', finite('seek: seconds', seconds))
    }
    async seekFrame(frame) {
        return this.command('seekFrame', this.frameNumber(frame))
    }
    /** Seconds of animation per second; negative: backwards. */
    async rate(rate) {
        return this.command('rate', finite('rate', rate))
    }
    /** `once`, `loop`, `pingPong` or `cycle`; true for `loop`, false for `once`. */
    async repeat(how) {
        const name = how === true ? 'loop' : how === false ? 'once' : how
        if (!(name in REPEATS)) throw misuse(`repeat is ${Object.keys(REPEATS).join(', ')}, not ${how}`)
        return this.command('repeat', REPEATS[name])
    }
    /** Plays frames from one to another only. */
    async frames(first, last) {
        return this.command('frames', this.frameNumber(first), this.frameNumber(last))
    }
    interpolate(on) {
        return this.command('interpolate', on ? 1 : 0)
    }
    /** Every second frame is left out, neither read nor decoded. */
    halfRate(on) {
        return this.command('halfRate', on ? 1 : 0)
    }
    /** What is not visible asks for nothing; its time passes. */
    visible(on) {
        return this.command('visible', on ? 1 : 0)
    }

    /** What it shows when all of that is there; it should not be playing. `all`: also what never changes. */
    async shown(all = false) {
        return this.take(await this.reel.decoder.call('shown', this.number, all))
    }

    /** A frame of its bytes. */
    take(bytes) {
        return new Frame(this.number, bytes)
    }

    /** A frame by its number, alone: decoded when the promise is kept. */
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

/** Ranges in their order, with one more; those that touch are one. */
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
        /** Frames, nodes, meshes. */
        this.description = description
        this.instances = []
        /** Called with what happens: reads that fail, damage, progress. */
        this.onEvent = onEvent ?? null
        /** The error of what fails now; null when it is well. */
        this.error = null
        /** What makes its vertices on a graphics device, where one does. */
        this.card = null
        /** Ranges of bytes that were fetched: offset and size. */
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

    /** One more. */
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

    /** Cameras, and what their lenses say in each frame. */
    cameras() {
        this.camerasRead ??= this.decoder.call('cameras', this.file)
        return this.camerasRead
    }

    /** Local transforms of a clip, by number or name: for each joint rotation xyzw, translation, scale. */
    async pose(clip, seconds, wraps = true) {
        const { clips } = await this.clips()
        const number = clipNumber(clips, clip)
        return this.decoder.call('pose', this.file, number, finite('pose: seconds', seconds), wraps)
    }

    /** Gives up the file; the decoder, too, where it was opened for this one. */
    async close() {
        this.decoder.reels.delete(this.file)
        if (this.ownsDecoder) return this.decoder.dispose()
        await this.decoder.call('close', this.file)
    }
}
