// The decoder as the page sees it: calls go to a worker or, if there is none, to the decoder in the page.

import { defaultModule, workerScript } from './assets.js'
import { Core } from './core.js'
import { MeshreelError, NOT_COPIED, errorFromData, errorToData, finite, misuse } from './errors.js'
import { Frame } from './frame.js'
import { nodeModule } from './node.js'
import { Reel } from './reel.js'

const DEFAULT_MEMORY = 512 << 20
const DEFAULT_HEAP = 96 << 20

export class Decoder {
    /** Creates one with `{ memory, heap, resident, readSize, worker, shared, module }`. */
    static async create(options = {}) {
        const { memory = DEFAULT_MEMORY, module } = options
        const heap = options.heap ?? Math.min(DEFAULT_HEAP, Math.floor(memory / 4))
        const decoder = new Decoder()
        const isolated = typeof crossOriginIsolated === 'undefined' || crossOriginIsolated
        const shared = options.shared ?? (isolated && typeof SharedArrayBuffer !== 'undefined')
        const worker = options.worker === false ? null : startWorker()
        if (worker) decoder.useWorker(worker)
        else decoder.core = new Core(event => decoder.happened(event), { shared: false })
        decoder.shared = shared && worker !== null
        try {
            if (worker) await decoder.call('create', { shared })
            const { resident, readSize } = options
            const chosen = module === undefined ? await defaultModule() : addressOf(module)
            await decoder.call('start', { memory, heap, resident, readSize, module: chosen })
        } catch (error) {
            decoder.dispose()
            throw error
        }
        return decoder
    }

    constructor() {
        this.calls = new Map()
        this.next = 0
        this.openings = 0
        this.reels = new Map()
        this.early = new Map()
        this.elapsed = 0
        this.ticking = null
        this.spare = []
        this.disposed = false
        /** The error that ended the worker. */
        this.failure = null
    }

    useWorker(worker) {
        this.worker = worker
        worker.listen(
            message => {
                if (message.event) return this.happened(message)
                const { resolve, reject } = this.calls.get(message.id)
                this.calls.delete(message.id)
                if (message.error) reject(errorFromData(message.error))
                else resolve(message.value)
            },
            error => {
                this.failure = error
                this.calls.forEach(({ reject }) => reject(error))
                this.calls.clear()
            },
        )
    }

    /** Calls a method of the decoder, in the worker or in the page. */
    async call(name, ...args) {
        if (this.disposed) throw misuse('the decoder was disposed of')
        if (this.failure) throw this.failure
        if (this.core) return this.core[name](...args)
        const id = this.next++
        const spare = name === 'tick' ? this.spare.splice(0) : []
        return new Promise((resolve, reject) => {
            this.calls.set(id, { resolve, reject })
            if (spare.length > 0) this.worker.post({ id: -1, name: 'recycle', args: [spare] }, spare)
            this.worker.post({ id, name, args }, [])
        })
    }

    /** Calls a method without waiting for it. */
    notify(name, ...args) {
        if (this.disposed || this.failure) return
        if (this.core) this.core[name](...args)
        else this.worker.post({ id: -1, name, args }, [])
    }

    happened(event) {
        if (event.event === 'closed') return this.early.delete(event.file)
        const told = { ...event, error: event.error ? errorFromData(event.error) : null }
        const reel = this.reels.get(event.file)
        if (reel) reel.happened(told)
        else this.early.set(event.file, [...(this.early.get(event.file) ?? []), told])
    }

    /** Opens a reel: an address, a File or Blob, or an ArrayBuffer. */
    async open(input, options = {}) {
        const { onEvent, signal, ...rest } = options
        signal?.throwIfAborted()
        // A signal cannot be sent to a worker: it gets the number of the opening, and a message that ends it.
        const opening = this.openings++
        const abort = () => this.notify('abortOpening', opening)
        signal?.addEventListener('abort', abort)
        let opened
        try {
            opened = await this.call('open', addressOf(input), { ...rest, opening })
        } catch (error) {
            throw signal?.aborted ? signal.reason : error
        } finally {
            signal?.removeEventListener('abort', abort)
        }
        const { file, name, description } = opened
        if (signal?.aborted) {
            this.notify('close', file)
            throw signal.reason
        }
        const reel = new Reel(this, { file, name, description }, onEvent)
        this.reels.set(file, reel)
        for (const event of this.early.get(file) ?? []) reel.happened(event)
        this.early.delete(file)
        await reel.addInstance()
        return reel
    }

    /**
     * Advances all instances by `dt` seconds, and passes what has changed to their `onFrame`. A call during
     * another one adds its time to the next, and returns the promise of the running one.
     */
    async tick(dt) {
        this.elapsed += finite('tick: seconds', dt)
        if (this.ticking) return this.ticking
        const passed = this.elapsed
        this.elapsed = 0
        this.ticking = this.tickNow(passed).finally(() => (this.ticking = null))
        return this.ticking
    }

    async tickNow(dt) {
        const instances = new Map()
        const cards = []
        for (const reel of this.reels.values()) {
            // While a graphics device has not carried out its steps, its reel is not decoded further.
            if (reel.card?.waits) continue
            if (reel.card) cards.push(reel.file)
            for (const instance of reel.instances) instances.set(instance.number, instance)
        }
        const wanted = [...instances.values()].map(i => [i.number, !i.complete])
        const frames = await this.call('tick', dt, wanted, cards)
        for (const [number, bytes, isCard] of frames) {
            if (isCard) {
                this.reels.get(number)?.card?.take(bytes)
                continue
            }
            const instance = instances.get(number)
            if (instance && !instance.removed) instance.show(new Frame(number, bytes))
            this.giveBack(bytes)
        }
    }

    /** Returns the buffer of a frame. */
    giveBack(bytes) {
        const whole = bytes.buffer instanceof ArrayBuffer && bytes.byteLength > 64
        if (this.worker && whole) this.spare.push(bytes.buffer)
    }

    /** Ends the worker, and closes all its files. */
    dispose() {
        this.disposed = true
        this.worker?.end()
        this.calls.forEach(({ reject }) => reject(misuse('the decoder was disposed of')))
        this.calls.clear()
        this.reels.clear()
        this.core = null
    }
}

/** Addresses are relative to the page, not to the worker. */
function addressOf(input) {
    if (input instanceof URL) return input.href
    return typeof input === 'string' && typeof document !== 'undefined' ? new URL(input, document.baseURI).href : input
}

/** Starts a worker; null if there are none, or if the page must not start it. */
function startWorker() {
    const { address, source } = workerScript()
    if (typeof Worker !== 'undefined') {
        const blob = source && new Blob([source], { type: 'text/javascript' })
        const url = blob ? URL.createObjectURL(blob) : address
        let worker
        try {
            worker = new Worker(url, { type: 'module', name: 'meshreel' })
        } catch {
            return null
        }
        // The event has a message only where the script was loaded.
        const errorOf = ({ message }) =>
            message
                ? new MeshreelError('Panic', `the worker stopped (${message}): this is a bug`)
                : new MeshreelError('Io', `${address}: the worker could not be loaded; ${NOT_COPIED}`)
        return {
            listen(message, failed) {
                worker.onmessage = event => message(event.data)
                worker.onerror = event => failed(errorOf(event))
            },
            post: (data, transfer) => worker.postMessage(data, transfer),
            end: () => {
                worker.terminate()
                URL.revokeObjectURL(url)
            },
        }
    }
    const threads = nodeModule('worker_threads')
    if (!threads) return null
    // Options of the program, such as `--input-type`, are not for the worker.
    const worker = new threads.Worker(source ?? new URL(address), { eval: source !== null, execArgv: [] })
    return {
        listen(message, failed) {
            worker.on('message', message)
            worker.on('error', error => failed(errorFromData(errorToData(error))))
        },
        post: (data, transfer) => worker.postMessage(data, transfer),
        end: () => worker.terminate(),
    }
}
