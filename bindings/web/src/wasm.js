// The module: the variant that this engine can run, its memory, and its calls (`wasm/src/exports.rs`).

import { MeshreelError, NOT_COPIED, errorOf } from './errors.js'
import { nodeModule } from './node.js'
import { Reader } from './reader.js'

const PAGE = 64 << 10
/** The initial size of the memory in pages. */
const FIRST_PAGES = 64
/** Bytes of one read: over a slow connection the first frames should not wait for many others. */
const READ = 64 << 10
/** The result of a call that lacks bytes of a file. */
export const LACKS = -2

/** Every module begins with these bytes. */
const MAGIC = [0, 0x61, 0x73, 0x6d]

/** Compiles the module from an address or bytes; a compiled one is used as it is. */
export async function compile(module) {
    if (module instanceof WebAssembly.Module) return module
    const isBytes = module instanceof ArrayBuffer || ArrayBuffer.isView(module)
    const given = { name: '(module)', bytes: module, sent: '' }
    const { name, bytes, sent } = isBytes ? given : await fetchModule(`${module}`)
    const start = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, Math.min(bytes.byteLength, 40))
    if (MAGIC.some((byte, i) => start[i] !== byte)) {
        const text = JSON.stringify(new TextDecoder().decode(start))
        const found = start.length > 0 ? `begins with ${text}` : 'is empty'
        throw new MeshreelError('Io', `${name}: this is no WebAssembly module: it ${found}${sent}`)
    }
    return WebAssembly.compile(bytes)
}

async function fetchModule(url) {
    const files = url.startsWith('file:') ? nodeModule('fs') : null
    if (files) return { name: url, bytes: files.readFileSync(new URL(url)), sent: '' }
    const fail = (what, cause) => {
        const message = `${url}: the module could not be fetched: ${what}; ${NOT_COPIED}`
        throw new MeshreelError('Io', message, { cause })
    }
    const answer = await fetch(url).catch(cause => fail(cause.message, cause))
    if (!answer.ok) fail(`the server answers ${answer.status} ${answer.statusText}`.trimEnd())
    const type = answer.headers.get('content-type') ?? 'no type'
    return { name: url, bytes: await answer.arrayBuffer(), sent: ` (sent as ${type}); ${NOT_COPIED}` }
}

const utf8 = new TextEncoder()

export class Wasm {
    /**
     * `memory`: bytes that the module may grow to; `heap`: bytes of it for frames; `resident`: for files that
     * are kept.
     */
    constructor(module, { memory, heap, resident = heap / 4, readSize = READ }) {
        this.limit = memory
        const maximum = Math.floor(memory / PAGE)
        if (maximum < FIRST_PAGES) {
            throw new MeshreelError('Misuse', `${memory} bytes of memory are too little: at least ${FIRST_PAGES * PAGE}`)
        }
        this.memory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum })
        this.exports = new WebAssembly.Instance(module, { env: { memory: this.memory } }).exports
        this.dead = null
        this.call('start', memory, heap, resident, readSize)
    }

    /** Returns the result of a call; throws if it is an error. */
    call(name, ...numbers) {
        if (this.dead) throw this.dead
        let result
        try {
            result = this.exports[`meshreel_${name}`](...numbers)
        } catch (cause) {
            throw (this.dead = this.stopped(cause))
        }
        if (result !== -1) return result
        const r = new Reader(this.output())
        throw errorOf(r.u32(), r.text())
    }

    /** Returns the error of a module that has stopped for good. */
    stopped(cause) {
        const missing = this.exports.meshreel_missing_memory() >>> 0
        if (missing > 0) {
            const what = `memory is full: ${missing} more bytes asked, ${this.limit} allowed in all (option memory)`
            return new MeshreelError('Limit', what, { cause })
        }
        return new MeshreelError('Panic', `the module stopped (${cause.message}): this is a bug`, { cause })
    }

    /** The output of the last call, valid until the next. */
    output() {
        const at = this.exports.meshreel_output() >>> 0
        return new Uint8Array(this.memory.buffer, at, this.exports.meshreel_output_size() >>> 0)
    }

    /** Writes the input of the next call: bytes or a text. */
    input(content) {
        const bytes = typeof content === 'string' ? utf8.encode(content) : content
        const at = this.call('input', bytes.length) >>> 0
        new Uint8Array(this.memory.buffer, at, bytes.length).set(bytes)
    }
}
