// Reels in three.js: `ReelLoader` loads a `ReelGroup`, whose meshes change in place as it plays.

import { Loader } from 'three'
import { open } from './index.js'
import { ReelGroup } from './three-group.js'
import { ReelInstances } from './three-instances.js'

export { ReelGroup, ReelInstances }

/** Loads reels as three.js loads anything: `load`, `loadAsync`, `parse`. */
export class ReelLoader extends Loader {
    constructor(manager) {
        super(manager)
        /** Options of `open`: memory, heap, worker, decoder … */
        this.options = {}
        /** `(name, id) => material`; if null, each material is a MeshStandardMaterial. */
        this.material = null
        /**
         * The meshes that become skins: `auto`, those whose frames do not move them; true, all with a rig;
         * false, none.
         */
        this.skins = 'auto'
        /**
         * A WebGPURenderer on whose device vertices are made; without one, or with WebGL, they are made as
         * values.
         */
        this.renderer = null
    }

    setOptions(options) {
        Object.assign(this.options, options)
        return this
    }

    load(url, onLoad, onProgress, onError) {
        const address = this.manager.resolveURL((this.path ?? '') + url)
        this.manager.itemStart(address)
        const fail = error => {
            if (onError) onError(error)
            else console.error(error)
            this.manager.itemError(address)
            this.manager.itemEnd(address)
        }
        const onEvent = event => {
            if (event.event === 'progress') onProgress?.({ loaded: event.loaded, lengthComputable: false, total: 0 })
        }
        const credentials = this.withCredentials ? 'include' : 'same-origin'
        const request = { headers: this.requestHeader, credentials }
        this.open(address, { request, onEvent }).then(group => {
            onLoad(group)
            this.manager.itemEnd(address)
        }, fail)
    }

    /** Opens bytes, a File or a Blob. Returns a promise as well. */
    parse(data, onLoad, onError) {
        const parsed = this.open(data, {})
        if (onLoad || onError) parsed.then(onLoad, onError ?? console.error)
        return parsed
    }

    async hasDevice() {
        const { renderer } = this
        if (!renderer?.isWebGPURenderer) return false
        await renderer.init()
        return renderer.backend.isWebGPUBackend === true
    }

    async open(input, options) {
        if (await this.hasDevice()) {
            // Loaded only if it is needed.
            const { openGroup } = await import('./three-webgpu.js')
            return openGroup(this, input, { ...this.options, ...options })
        }
        const reel = await open(input, { ...this.options, ...options })
        try {
            const group = new ReelGroup(reel, this.material)
            await group.begin(this.skins)
            return group
        } catch (error) {
            await reel.close()
            throw error
        }
    }
}
