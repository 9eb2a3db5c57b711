// A frame of an instance (`wasm/src/frame.rs`): its bytes as typed arrays, valid until the second tick after.

const LATE = 1
const SAME = 2
const PLAYING = 4
const ENDED = 8
const EXACT = 16

// By number of the section: its content, the array type, and the numbers per item.
const SECTIONS = [
    null,
    ['position', Float32Array, 3],
    ['position', Uint16Array, 4],
    ['normal', Float32Array, 3],
    ['normal', Int16Array, 4],
    ['tangent', Float32Array, 4],
    ['tangent', Int16Array, 4],
    ['uv', Float32Array, 2],
    ['colour', Uint8Array, 4],
    ['colour', Float32Array, 4],
    ['indices', Uint32Array, 1],
    ['ranges', Uint32Array, 3],
    ['levelError', Float32Array, 1],
    ['velocity', Float32Array, 3],
    ['width', Float32Array, 1],
    ['ids', BigUint64Array, 1],
    ['curves', Uint32Array, 1],
    ['custom', Float32Array, 1],
    ['custom', Float32Array, 2],
    ['custom', Float32Array, 3],
    ['custom', Float32Array, 4],
]

const align = at => (at + 7) & ~7

export class Frame {
    constructor(instance, bytes) {
        const { buffer, byteOffset } = bytes
        const head = new DataView(buffer, byteOffset)
        const flags = head.getUint32(12, true)
        /** Number of the instance. */
        this.instance = instance
        /** The two frames that it is blended from, and the weight of the second. */
        this.first = head.getUint32(0, true)
        this.second = head.getUint32(4, true)
        this.blend = head.getFloat32(8, true)
        /** Seconds from the first frame. */
        this.position = head.getFloat64(16, true)
        /** The frame that should be shown is missing; this is the last one that was shown. */
        this.late = (flags & LATE) !== 0
        /**
         * Nothing has changed since the last frame that was delivered: there are no nodes and no sections.
         */
        this.same = (flags & SAME) !== 0
        this.playing = (flags & PLAYING) !== 0
        this.ended = (flags & ENDED) !== 0
        /** World bounds: min xyz, max xyz. */
        this.bounds = new Float32Array(buffer.slice(byteOffset + 24, byteOffset + 48))
        const count = head.getUint32(48, true)
        const exact = (flags & EXACT) !== 0
        const [stride, Numbers, start] = exact ? [104, Float64Array, 8] : [56, Float32Array, 4]
        /** For each node, whether it is visible, and its object-to-world matrix, row by row. */
        this.nodes = Array.from({ length: count }, (_, node) => {
            const at = 56 + stride * node
            const world = new Numbers(buffer, byteOffset + at + start, 12)
            return { visible: head.getUint32(at, true) !== 0, world }
        })
        /**
         * The values that are new: `{ what, mesh, set, count, size, values }`, with `size` numbers for each
         * of `count`.
         */
        this.sections = []
        let at = 56 + stride * count
        for (let left = head.getUint32(52, true); left > 0; left--) {
            const number = i => head.getUint32(at + 4 * i, true)
            const [what, Numbers, size] = SECTIONS[number(0)]
            const [mesh, set, count, bytes] = [number(1), number(2), number(3), number(4)]
            at += 24
            const values = new Numbers(buffer, byteOffset + at, bytes / Numbers.BYTES_PER_ELEMENT)
            this.sections.push({ what, mesh, set, count, size, values })
            at = align(at + bytes)
        }
    }

    /** Returns the values of a mesh, if they are new. */
    find(what, mesh, set = 0) {
        return this.sections.find(s => s.what === what && s.mesh === mesh && s.set === set)
    }
}
