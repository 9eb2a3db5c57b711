// Prints how fast the modules decode, in MB of positions as f32 per second, and how soon what a graphics device is to do
// for a frame is there, with the bytes that go up.
//   node test/figures.js [FILE…]

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { Decoder, moduleAddress } from '../src/index.js'
import { GpuReel, gpuModuleAddress } from '../src/webgpu.js'

const golden = new URL('../../../testdata/golden/v0/', import.meta.url)
const names = ['flag_small.reel', 'flag_fast.reel', 'wall_packed.reel']
const files = process.argv.length > 2 ? process.argv.slice(2) : names.map(name => fileURLToPath(new URL(name, golden)))

const modules = [
    ['simd128', moduleAddress(false), measure],
    ['scalar', moduleAddress(true), measure],
    ['WebGPU', gpuModuleAddress(), measureSteps],
]
for (const [name, module, figures] of modules) {
    const bytes = readFileSync(module)
    console.log(`${name}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzip`)
    for (const file of files) console.log(`  ${basename(file).padEnd(22)} ${await figures(file, module)}`)
}

/** The same of steps for a device, which nobody does. */
async function measureSteps(file, module) {
    const limits = { maxStorageBufferBindingSize: 128 << 20, maxBufferSize: 256 << 20 }
    const device = { limits, lost: new Promise(() => {}) }
    // A ring of few frames: what was shown before goes up again.
    const opened = async ring => {
        const own = { worker: false, module, heap: 32 << 20, resident: 0, ahead: 0, ring }
        const reel = await GpuReel.open(device, readFileSync(file), own)
        const fits = await reel.still(0).then(() => true, () => false)
        reel.steps = null
        if (fits) return reel
        await reel.dispose()
        return opened(2 * ring)
    }
    const reel = await opened(32 << 10)
    const { frames } = reel.description
    let [best, bytes] = [Infinity, 0]
    for (let round = 0; round < 10; round++) {
        const start = performance.now()
        bytes = 0
        for (let n = 0; n < frames; n++) {
            await reel.still(n)
            bytes += reel.steps?.length ?? 0
            reel.steps = null
        }
        best = Math.min(best, (performance.now() - start) / frames)
    }
    await reel.dispose()
    return `${best.toFixed(3)} ms a frame, ${Math.round(bytes / frames)} bytes of steps`
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
