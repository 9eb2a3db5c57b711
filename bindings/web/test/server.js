// A server of memory and files, for tests: with ranges or without, slow, and cut off when a test says so.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const TYPES = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.wasm': 'application/wasm',
    '.png': 'image/png',
    '.svg': 'image/svg+xml',
}

/**
 * Serves `files` (by path) and below `root`. `ranges`: answers them; `rate`: bytes per second; `isolated`: pages have
 * shared memory; `cors`: pages of other origins may read. Connections for ranges that begin within `lost` are
 * cut, within `held` they wait; true: all of them.
 */
export async function serve(options = {}) {
    const { files = {}, root = null, ranges = true, rate = 0, isolated = false, cors = false } = options
    const { lost = null, held = null } = options
    const state = { requests: [], lost, held, rate, ranges, files }
    const server = createServer(async (request, response) => {
        try {
            await answer(request, response)
        } catch (error) {
            response.destroy(error)
        }
    })
    async function answer(request, response) {
        const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
        let bytes = state.files[path]
        if (!bytes && root) bytes = await readFile(join(root, normalize(path))).catch(() => undefined)
        state.requests.push({ path, range: request.headers.range ?? null })
        const start = Number(/^bytes=(\d+)/.exec(request.headers.range ?? '')?.[1] ?? 0)
        const within = which => path in state.files && which && (which === true || (start >= which[0] && start < which[1]))
        const isLost = () => within(state.lost)
        if (isLost()) return request.socket.destroy()
        while (within(state.held)) await new Promise(resolve => setTimeout(resolve, 10))
        const headers = { 'content-type': TYPES[extname(path)] ?? 'application/octet-stream', 'cache-control': 'no-store' }
        if (isolated) {
            headers['cross-origin-opener-policy'] = 'same-origin'
            headers['cross-origin-embedder-policy'] = 'require-corp'
        }
        if (cors) headers['access-control-allow-origin'] = '*'
        if (!bytes) return response.writeHead(404, headers).end()
        const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
        let [status, body] = [200, bytes]
        if (state.ranges && range && Number(range[1]) < bytes.length) {
            const [from, to] = [Number(range[1]), Math.min(Number(range[2] || Infinity), bytes.length - 1)]
            ;[status, body] = [206, bytes.subarray(from, to + 1)]
            headers['content-range'] = `bytes ${from}-${to}/${bytes.length}`
        }
        response.writeHead(status, { ...headers, 'content-length': body.length })
        if (!state.rate || !(path in state.files)) return response.end(body)
        const piece = Math.max(1, Math.ceil(state.rate / 50))
        for (let at = 0; at < body.length; at += piece) {
            if (isLost() || response.destroyed) return request.socket.destroy()
            response.write(body.subarray(at, at + piece))
            await new Promise(resolve => setTimeout(resolve, 20))
        }
        response.end()
    }
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    return Object.assign(state, {
        url: path => `http://127.0.0.1:${server.address().port}${path}`,
        close: () => (server.closeAllConnections(), new Promise(resolve => server.close(resolve))),
    })
}
