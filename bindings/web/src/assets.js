// The files that the code needs at run time: the worker and the modules. Bundlers find them by the literal
// addresses below and copy them. For those that do not, `meshreel/inline` brings the worker and one module
// inside the code.

import { MeshreelError, NOT_COPIED } from './errors.js'

// A function that splats a number over a register of 128 bits.
const SIMD = [
    ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3],
    ...[2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
]

/** Whether this engine has registers of 128 bits. */
export const hasSimd = () => WebAssembly.validate(new Uint8Array(SIMD))

let inlined = null

/** Registers `{ worker, module }`: the worker's source, and the module as base64 of its gzip. */
export function setInlined(files) {
    inlined = files
}

/** The result of `address`, which fails in a script that is no module: it does not know its own address. */
function resolve(address) {
    try {
        return address()
    } catch (cause) {
        const what = 'this script is no module, so the files of the package cannot be found beside it'
        throw new MeshreelError('Io', `${what}; ${NOT_COPIED}`, { cause })
    }
}

/** The address of the module for this engine. */
export const moduleAddress = (scalar = !hasSimd()) =>
    resolve(() =>
        scalar
            ? new URL('../dist/meshreel.scalar.wasm', import.meta.url)
            : new URL('../dist/meshreel.wasm', import.meta.url),
    )

/** The address of the module with the plan of a graphics device. Engines with WebGPU have 128-bit registers. */
export const gpuModuleAddress = () => resolve(() => new URL('../dist/meshreel.gpu.wasm', import.meta.url))

/** The module for this engine: its bytes where they are inlined, else its address. */
export async function defaultModule() {
    if (!inlined || !hasSimd()) return moduleAddress().href
    const bytes = Uint8Array.from(atob(inlined.module), character => character.charCodeAt(0))
    const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
    return new Response(unzipped).arrayBuffer()
}

/** The worker: where its script lies, and the source that is started instead where that lies elsewhere. */
export function workerScript() {
    if (inlined) return { address: 'meshreel/inline', source: inlined.worker }
    const { href, origin } = resolve(() => new URL('../dist/meshreel.worker.js', import.meta.url))
    // Browsers start no worker of another origin, but a script of the page's own may import it.
    const isForeign = typeof location !== 'undefined' && origin !== 'null' && origin !== location.origin
    return { address: href, source: isForeign ? `import ${JSON.stringify(href)}` : null }
}
