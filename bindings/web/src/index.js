// Plays .reel files in a web page: `open` returns a reel, which decodes in a worker while it loads.

import { Decoder } from './decoder.js'

export { hasSimd, moduleAddress } from './assets.js'
export { Decoder } from './decoder.js'
export { MeshreelError } from './errors.js'
export { Frame } from './frame.js'
export { Instance, Reel } from './reel.js'

/**
 * Opens a reel in a decoder of its own, or in `options.decoder`. `input`: an address, which is read in
 * ranges; a File or Blob; an ArrayBuffer.
 */
export async function open(input, options = {}) {
    const { decoder: given, memory, heap, resident, readSize, worker, shared, module, ...rest } = options
    const own = { memory, heap, resident, readSize, worker, shared, module }
    const decoder = given ?? (await Decoder.create(own))
    try {
        const reel = await decoder.open(input, rest)
        reel.ownsDecoder = !given
        return reel
    } catch (error) {
        if (!given) decoder.dispose()
        throw error
    }
}
