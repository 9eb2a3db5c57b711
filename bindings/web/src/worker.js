// The decoder in a worker: calls come as messages `{ id, name, args }`, results go back as `{ id, value |
// error }`, and events as `{ event, … }`.

import { transfers } from './calls.js'
import { Core } from './core.js'
import { errorToData } from './errors.js'
import { nodeModule } from './node.js'

const parent = nodeModule('worker_threads')?.parentPort
const port = parent ?? self

let core = null

async function answer({ id, name, args }) {
    try {
        if (name === 'create') core = new Core(event => port.postMessage(event), args[0])
        const value = name === 'create' ? null : await core[name](...args)
        // Calls without a waiting caller have no number.
        if (id >= 0) port.postMessage({ id, value }, transfers(value))
    } catch (error) {
        port.postMessage({ id, error: errorToData(error) })
    }
}

if (parent) parent.on('message', answer)
else self.onmessage = message => answer(message.data)
