// Carries out the steps of the module on a graphics device (`wasm/src/steps.rs`): buffers, shaders, writes,
// passes.

import { MeshreelError } from './errors.js'

const BUFFER = 1
const LAYOUT = 2
const MODULE = 3
const PIPELINE = 4
const BINDINGS = 5
const WRITE = 6
const PASS = 7
const DISPATCH = 8
const END = 9
const DROP = 10
const VERTICES = 11
const LOD_LEVELS = 12

const utf8 = new TextDecoder()

// The usages of buffers by number. In a function, as the names exist only where there is WebGPU.
const usages = () => {
    const { UNIFORM, STORAGE, VERTEX, INDEX, COPY_SRC, COPY_DST } = GPUBufferUsage
    const all = [UNIFORM, STORAGE, UNIFORM | STORAGE, VERTEX | STORAGE | COPY_SRC, INDEX | STORAGE | COPY_SRC]
    return all.map(usage => usage | COPY_DST)
}

// By the number of a kind of binding.
const KINDS = [
    { type: 'uniform', hasDynamicOffset: true },
    { type: 'read-only-storage' },
    { type: 'storage' },
    { type: 'read-only-storage', hasDynamicOffset: true },
]

/** Reads numbers and texts one after the other. */
class Words {
    constructor(bytes) {
        this.bytes = bytes
        this.words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
        this.at = 0
    }

    next() {
        return this.words[this.at++]
    }

    numbers(count) {
        return Array.from({ length: count }, () => this.next())
    }

    f64() {
        return new Float64Array(new Uint32Array(this.numbers(2)).buffer)[0]
    }

    take(size) {
        const start = 4 * this.at
        this.at += Math.ceil(size / 4)
        return this.bytes.subarray(start, start + size)
    }

    text() {
        // Texts in shared memory cannot be decoded in place.
        return utf8.decode(this.take(this.next()).slice())
    }
}

/** The objects of one file on a device. */
export class Steps {
    constructor(device) {
        this.device = device
        this.usages = null
        this.buffers = new Map()
        this.layouts = []
        this.modules = []
        this.pipelines = []
        this.bindings = new Map()
        /** The locations of vertices and indices by instance and mesh. */
        this.vertices = new Map()
        /** The index ranges of LOD levels by mesh: first and count. */
        this.levels = new Map()
        this.pass = null
        this.makes = false
    }

    /**
     * Carries out all steps: writes go to the device's queue, passes are recorded into `encoder`. Returns the
     * bytes that were uploaded, the dispatches, and a promise of the error of objects that were created, if
     * there were any.
     */
    run(bytes, encoder) {
        const words = new Words(bytes)
        this.encoder = encoder
        this.done = { bytes: 0, dispatches: 0 }
        this.makes = false
        while (words.at < words.words.length) this.step(words.next(), words)
        this.encoder = null
        return { ...this.done, failed: this.makes ? this.failed() : Promise.resolve(null) }
    }

    async failed() {
        const scopes = [this.device.popErrorScope(), this.device.popErrorScope()]
        const [full, invalid] = await Promise.all(scopes.map(scope => scope.catch(() => null)))
        if (full) return new MeshreelError('Limit', `the graphics device has too little memory: ${full.message}`)
        return invalid && new MeshreelError('Panic', `the graphics device refuses steps: ${invalid.message}`)
    }

    step(step, words) {
        // Creating objects may exceed the memory of the device; mere playing creates none.
        if (step <= BINDINGS && !this.makes) {
            this.makes = true
            for (const kind of ['validation', 'out-of-memory']) this.device.pushErrorScope(kind)
        }
        switch (step) {
            case BUFFER:
                return this.makeBuffer(words)
            case LAYOUT:
                return this.makeLayout(words)
            case MODULE:
                return this.makeModule(words)
            case PIPELINE:
                return this.makePipeline(words)
            case BINDINGS:
                return this.makeBindings(words)
            case WRITE: {
                const [buffer, offset, size] = words.numbers(3)
                this.done.bytes += size
                return this.device.queue.writeBuffer(this.buffers.get(buffer), offset, words.take(size))
            }
            case PASS:
                return (this.pass = this.encoder.beginComputePass({ label: words.text() }))
            case DISPATCH:
                return this.dispatch(words)
            case END:
                return this.pass.end()
            case DROP: {
                const [kind, number] = words.numbers(2)
                return this.drop(kind, number)
            }
            case VERTICES: {
                const [instance, mesh, buffer, offset, previousOffset, size, count, indices, indexCount] = words.numbers(9)
                const own = { buffer: this.buffers.get(buffer), offset, previousOffset, size, count }
                const all = { ...own, indices: this.buffers.get(indices), indexCount }
                if (!this.vertices.has(instance)) this.vertices.set(instance, new Map())
                return this.vertices.get(instance).set(mesh, all)
            }
            case LOD_LEVELS: {
                const [mesh, count] = words.numbers(2)
                const level = () => ({ first: words.next(), count: words.next() })
                return this.levels.set(mesh, Array.from({ length: count }, level))
            }
            default:
                throw new MeshreelError('Panic', `there is no step ${step}: module and scripts are not of one version`)
        }
    }

    /** Recorded passes may still need the object: it is destroyed when none does. */
    drop(kind, number) {
        if (kind === BINDINGS) return this.bindings.delete(number)
        const gone = this.buffers.get(number)
        this.buffers.delete(number)
        for (const [instance, meshes] of this.vertices) {
            if ([...meshes.values()].some(({ buffer }) => buffer === gone)) this.vertices.delete(instance)
        }
    }

    makeBuffer(words) {
        const [number, usage, size] = words.numbers(3)
        const label = words.text()
        this.usages ??= usages()
        this.buffers.set(number, this.device.createBuffer({ label, size, usage: this.usages[usage] }))
    }

    makeLayout(words) {
        const [number, vertex, count] = words.numbers(3)
        const visibility = vertex ? GPUShaderStage.VERTEX : GPUShaderStage.COMPUTE
        const kinds = words.numbers(count)
        const entries = kinds.map((kind, binding) => ({ binding, visibility, buffer: KINDS[kind] }))
        this.layouts[number] = this.device.createBindGroupLayout({ label: 'meshreel', entries })
    }

    makeModule(words) {
        const [number, layout] = words.numbers(2)
        const code = words.text()
        const bindGroupLayouts = [this.layouts[layout]]
        this.modules[number] = {
            module: this.device.createShaderModule({ label: 'meshreel', code }),
            layout: this.device.createPipelineLayout({ label: 'meshreel', bindGroupLayouts }),
        }
    }

    makePipeline(words) {
        const [number, module] = words.numbers(2)
        const entryPoint = words.text()
        const constants = {}
        for (let left = words.next(); left > 0; left--) {
            const name = words.text()
            constants[name] = words.f64()
        }
        const { layout, module: code } = this.modules[module]
        const compute = { module: code, entryPoint, constants }
        this.pipelines[number] = this.device.createComputePipeline({ label: `meshreel ${entryPoint}`, layout, compute })
    }

    makeBindings(words) {
        const [number, layout, count] = words.numbers(3)
        const entries = Array.from({ length: count }, (_, binding) => {
            const [buffer, size] = words.numbers(2)
            return { binding, resource: { buffer: this.buffers.get(buffer), ...(size > 0 ? { size } : {}) } }
        })
        const group = { label: 'meshreel', layout: this.layouts[layout], entries }
        this.bindings.set(number, this.device.createBindGroup(group))
    }

    dispatch(words) {
        const [pipeline, bindings, count] = words.numbers(3)
        const offsets = words.numbers(count)
        const [x, y] = words.numbers(2)
        this.pass.setPipeline(this.pipelines[pipeline])
        this.pass.setBindGroup(0, this.bindings.get(bindings), offsets)
        this.pass.dispatchWorkgroups(x, y)
        this.done.dispatches++
    }

    /** Destroys the buffers. */
    destroy() {
        this.buffers.forEach(buffer => buffer.destroy())
        this.buffers.clear()
        this.vertices.clear()
    }
}
