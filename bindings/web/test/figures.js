// Prints how fast the module decodes, in MB of positions as f32 per second, and what opening asks for.
//   node test/figures.js [FILE…]

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Decoder, moduleAddress } from '../src/index.js'

const golden = new URL('../../../testdata/golden/v0/', import.meta.url)
const names = ['flag_small.reel', 'flag_fast.reel', 'wall_packed.reel']
const files = process.argv.length > 2 ? process.argv.slice(2) : names.map(name => fileURLToPath(new URL(name, golden)))

for (const [name, module] of [['simd128', moduleAddress(false)], ['scalar', moduleAddress(true)]]) {
    const bytes = readFileSync(module)
    console.log(`${name}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`)
    for (const file of files) console.log(`  ${basename(file).padEnd(22)} ${await measure(file, module)}`)
}

/** Plays a file often, and takes the best of ten rounds. */
async function measure(file, module) {
    const decoder = await Decoder.create({ worker: false, module, heap: 32 << 20, resident: 0 })
    const reel = await decoder.open(readFileSync(file))
    const { frames, meshes } = reel.description
    const vertices = meshes.reduce((sum, mesh) => sum + (mesh.method === 'static' ? 0 : mesh.vertices), 0)
    await reel.instance.still(0, true)
    let best = Infinity
    for (let round = 0; round < 10; round++) {
        const start = performance.now()
        for (let n = 0; n < frames; n++) await reel.instance.still(n)
        best = Math.min(best, (performance.now() - start) / frames)
    }
    const megabytes = ((12 * vertices) / 1e6 / best) * 1000
    decoder.dispose()
    return `${best.toFixed(3)} ms a frame, handed out; ${megabytes.toFixed(0)} MB/s of positions`
}
