// Sources of bytes: an address, read in ranges or as a whole; a Blob or File; memory.

import { MeshreelError, misuse } from './errors.js'

/** Bytes of the first request. */
export const FIRST = 64 << 10

const io = (name, what, cause) => new MeshreelError('Io', `${name}: ${what}`, { cause })

/**
 * Opens a source: `{ name, size, read(offset, size, signal), first }`; `first` are bytes from the start that
 * are present.
 */
export async function openSource(input, options = {}) {
    if (input instanceof ArrayBuffer || ArrayBuffer.isView(input)) {
        const view = ArrayBuffer.isView(input)
        const bytes = view ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)
        const read = async (offset, size) => bytes.subarray(offset, offset + size)
        return { name: options.name ?? '(memory)', size: bytes.length, read }
    }
    if (typeof Blob !== 'undefined' && input instanceof Blob) return fromBlob(input, options)
    if (typeof input === 'string' || input instanceof URL) return fromAddress(String(input), options)
    throw misuse('a reel is opened from an address, a File or Blob, or an ArrayBuffer')
}

function fromBlob(blob, options) {
    const name = options.name ?? blob.name ?? '(file)'
    const read = async (offset, size) => {
        try {
            return new Uint8Array(await blob.slice(offset, offset + size).arrayBuffer())
        } catch (cause) {
            throw io(name, `could not be read: ${cause.message}`, cause)
        }
    }
    return { name, size: blob.size, read }
}

async function ask(url, options, headers, signal) {
    const { headers: own = {}, credentials = 'same-origin', mode } = options.request ?? {}
    let answer
    try {
        answer = await fetch(url, { headers: { ...own, ...headers }, credentials, mode, signal })
    } catch (cause) {
        throw io(url, `the connection failed (${cause.message}); check address, network and CORS`, cause)
    }
    if (!answer.ok) throw io(url, `the server answers ${answer.status} ${answer.statusText}`.trimEnd())
    return answer
}

/** Returns the first byte, and the size of the whole file, from a partial response. */
function partOf(answer) {
    const match = /^bytes (\d+)-\d+\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')
    return answer.status === 206 && match ? { offset: Number(match[1]), size: Number(match[2]) } : null
}

async function fromAddress(url, options) {
    const name = options.name ?? url
    const range = (offset, size) => ({ range: `bytes=${offset}-${offset + size - 1}` })
    const answer = await ask(url, options, range(0, FIRST), options.signal)
    // Servers of applications answer unknown addresses with their page.
    if (/^text\/html/.test(answer.headers.get('content-type') ?? '')) {
        await answer.body?.cancel()
        throw io(name, 'the server sent an HTML page instead of a .reel file; check the address')
    }
    const part = partOf(answer)
    if (part === null) {
        // A partial response that does not say which part it is cannot be used.
        if (answer.status !== 206) return whole(name, answer)
        await answer.body?.cancel()
        return whole(name, await ask(url, options, {}, options.signal))
    }
    const mark = answer.headers.get('etag')
    const body = async (answer, size) => {
        try {
            const bytes = new Uint8Array(await answer.arrayBuffer())
            if (bytes.length > 0 && bytes.length <= size) return bytes
        } catch (cause) {
            throw io(name, `the connection was lost (${cause.message})`, cause)
        }
        throw io(name, 'the server sends other bytes than it was asked for')
    }
    const read = async (offset, size, signal) => {
        const answer = await ask(url, options, range(offset, size), signal)
        const got = partOf(answer)
        if (got?.offset !== offset) throw io(name, 'the server no longer sends ranges')
        if (got.size !== part.size || (mark && answer.headers.get('etag') !== mark)) {
            throw io(name, 'the file on the server has changed: open it anew')
        }
        return body(answer, size)
    }
    const first = await body(answer, FIRST)
    return { name, size: part.size, read, first }
}

/** For a server without ranges: fetches the whole file, and reads from what has arrived. */
async function whole(name, answer) {
    const said = answer.headers.get('content-encoding') ? null : answer.headers.get('content-length')
    if (said === null || !answer.body) {
        const bytes = new Uint8Array(await answer.arrayBuffer())
        return { name, size: bytes.length, read: async (offset, size) => bytes.subarray(offset, offset + size) }
    }
    const bytes = new Uint8Array(Number(said))
    let [there, failed, wake] = [0, null, () => {}]
    let more = new Promise(resolve => (wake = resolve))
    const next = () => {
        wake()
        more = new Promise(resolve => (wake = resolve))
    }
    const arrive = async () => {
        const reader = answer.body.getReader()
        for (;;) {
            const { done, value } = await reader.read()
            if (done) break
            bytes.set(value.subarray(0, bytes.length - there), there)
            there += Math.min(value.length, bytes.length - there)
            next()
        }
        if (there < bytes.length) throw new Error('it ended early')
    }
    arrive().catch(cause => {
        failed = io(name, `the connection was lost (${cause.message})`, cause)
        next()
    })
    const read = async (offset, size) => {
        while (there < Math.min(offset + size, bytes.length)) {
            if (failed) throw failed
            await more
        }
        return bytes.subarray(offset, offset + size)
    }
    return { name, size: bytes.length, read }
}
