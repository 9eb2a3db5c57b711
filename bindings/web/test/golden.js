// The golden files, and the digests that the native runtime has of what they show.

import { readFileSync } from 'node:fs'
import { xxhash3 } from 'hash-wasm'

const folder = new URL('../../../testdata/golden/', import.meta.url)

/** Bytes of a file of `testdata/golden`. */
export const golden = name => new Uint8Array(readFileSync(new URL(name, folder)))

/** Digest and name of each golden file. */
export const digests = () =>
    readFileSync(new URL('v0/DIGESTS', folder), 'utf8')
        .trim()
        .split('\n')
        .map(line => line.split(/\s+/))

const bytesOf = values => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

/**
 * All that a reel shows as one number, made as `digest` of `crates/play/runtime_test/src/lib.rs` makes it: of each frame
 * its time, visibility and world matrix of each node, triangles and vertex values of each mesh.
 */
export async function digest(reel) {
    const parts = []
    const { frames, times, meshes } = reel.description
    for (let n = 0; n < frames; n++) {
        const frame = await reel.instance.still(n, true)
        if (frame.first !== n || frame.second !== n || frame.late) throw new Error(`frame ${n} is not what is shown`)
        parts.push(bytesOf(times.slice(n, n + 1)))
        for (const { visible, world } of frame.nodes) parts.push(Uint8Array.of(visible ? 1 : 0), bytesOf(world.slice()))
        meshes.forEach((_, mesh) => parts.push(...meshParts(frame, mesh)))
    }
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
    parts.reduce((at, part) => (all.set(part, at), at + part.length), 0)
    return xxhash3(all)
}

function meshParts(frame, mesh) {
    const values = what => frame.find(what, mesh)?.values
    const count = frame.find('position', mesh).count
    const parts = [bytesOf(values('indices').slice())]
    for (const [what, size] of [['position', 3], ['normal', 3], ['tangent', 4], ['uv', 2], ['colour', 4]]) {
        const found = values(what)
        parts.push(Uint8Array.of(found ? 1 : 0), bytesOf(found ? found.slice() : new Float32Array(size * count)))
    }
    return parts
}
