// The demo in a real browser, over a slow connection, and one that is lost.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { golden, missing, start, WEBGPU } from './chromium.js'

const skip = missing() ?? false
const PAGE = '/bindings/web/demo/index.html'
const SLOW = '/slow/wall.reel'

async function demo(options) {
    const started = await start({ page: `${PAGE}${options?.query ?? ''}`, ...options })
    await started.page.waitForFunction(() => window.demo?.group?.frames > 3, null, { timeout: 0 })
    return started
}

test('h09 one of three, a file that is dropped, scrubbing and playing backwards', { skip }, async () => {
    const { page, errors, end } = await demo()
    assert.equal(await page.locator('#file option').count(), 4)
    await page.selectOption('#file', { index: 2 })
    await page.waitForFunction(() => demo.group.name.includes('snake') && demo.group.frames > 3, null, { timeout: 0 })
    const bytes = [...readFileSync(golden('v0/flag_fast.reel'))]
    await page.evaluate(bytes => {
        const data = new DataTransfer()
        data.items.add(new File([Uint8Array.from(bytes)], 'dropped.reel'))
        dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
    }, bytes)
    await page.waitForFunction(() => demo.group.name === 'dropped.reel' && demo.group.frames > 3, null, { timeout: 0 })
    await page.click('#play')
    await page.locator('#time').fill('0.5')
    await page.waitForFunction(() => Math.abs(demo.group.time - demo.group.duration / 2) < 1e-3, null, { timeout: 0 })
    await page.click('#reverse')
    await page.click('#play')
    const half = await page.evaluate(() => demo.group.duration / 2)
    await page.waitForFunction(half => demo.group.time < half - 0.05 && demo.group.time > 0, half, { timeout: 0 })
    assert.deepEqual(errors, [])
    await end()
})

test('h09 ten thousand instances are drawn in one call for each mesh', { skip }, async () => {
    // Two triangles: graphics without a card are slow.
    const { page, errors, end } = await demo({ query: '?file=/testdata/golden/v0/square.reel' })
    await page.check('#many')
    await page.waitForFunction(() => demo.cloud?.visible, null, { timeout: 0 })
    const drawn = await page.evaluate(() => demo.drawn)
    await page.waitForFunction(drawn => demo.drawn > drawn + 1, drawn, { timeout: 0 })
    const info = await page.evaluate(() => [demo.info.render.calls, demo.info.render.triangles, demo.cloud.pairs.length])
    const triangles = await page.evaluate(() => demo.group.parts[0].levels[0].count / 3)
    assert.equal(info[0], info[2])
    assert.ok(info[1] >= 10_000 * triangles, `${info[1]} triangles`)
    assert.deepEqual(errors, [])
    await end()
})

test('h09 over a slow connection it plays before all of it is there', { skip }, async () => {
    const files = { [SLOW]: readFileSync(golden('v0/wall_packed.reel')) }
    // Frames are the bytes from 123,650 to 214,073.
    const held = [136_700, 176_700]
    const { page, server, end } = await demo({ files, rate: 200_000, held, query: `?file=${SLOW}&read=8192` })
    const bar = () =>
        page.evaluate(() => {
            const canvas = document.getElementById('loaded')
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, 1)
            return data.filter((alpha, i) => i % 4 === 3 && alpha > 0).length / canvas.width
        })
    const first = await bar()
    assert.ok(first > 0 && first < 0.95, `${first} of the file is there when it plays`)
    server.held = null
    await page.waitForFunction(() => demo.group.time > demo.group.duration * 0.8, null, { timeout: 0 })
    assert.ok((await bar()) > 0.9)
    assert.ok(server.requests.filter(({ path }) => path === SLOW).every(({ range }) => range))
    await end()
})

test('h09 a lost connection: the last good frame stays, the error has its class, and it goes on', { skip }, async () => {
    const files = { [SLOW]: readFileSync(golden('v0/wall_packed.reel')) }
    const lost = [138_800, 178_800]
    const { page, server, errors, end } = await demo({ files, lost, query: `?file=${SLOW}&read=8192` })
    await page.waitForFunction(() => document.getElementById('error').textContent.startsWith('Io'), null, { timeout: 0 })
    const shown = await page.evaluate(() => demo.group.reel.instance.frame !== null && demo.group.children.length > 0)
    assert.ok(shown)
    server.lost = null
    await page.waitForFunction(() => demo.group.error === null, null, { timeout: 0 })
    await page.waitForFunction(() => demo.group.time > demo.group.duration * 0.9, null, { timeout: 0 })
    assert.deepEqual(errors, [])
    await end()
})

test('h09 a damaged file is told, and another can be taken', { skip }, async () => {
    const bytes = readFileSync(golden('v0/flag_small.reel'))
    bytes.fill(0, 64, 5000)
    const { page, end } = await demo({ files: { '/damaged.reel': bytes } })
    await page.evaluate(() => demo.show('/damaged.reel'))
    assert.match(await page.textContent('#error'), /^Malformed/)
    assert.ok(await page.evaluate(() => demo.group.frames > 0), 'the one before stays')
    await page.selectOption('#file', { index: 2 })
    await page.waitForFunction(() => demo.group.name.includes('snake'), null, { timeout: 0 })
    await end()
})

test('h12 with WebGPU the demo makes vertices on the device, of one file after another, forwards and backwards', { skip }, async t => {
    const { page, errors, end } = await demo({ query: '?webgpu', flags: WEBGPU })
    const isOnDevice = () => page.evaluate(() => demo.group.type === 'GpuReelGroup')
    if (!(await isOnDevice())) {
        await end()
        return t.skip('this Chromium has no WebGPU adapter')
    }
    await page.selectOption('#file', { index: 2 })
    await page.waitForFunction(() => demo.group.name.includes('snake') && demo.group.frames > 3, null, { timeout: 0 })
    await page.click('#reverse')
    const frames = await page.evaluate(() => demo.group.frames)
    await page.waitForFunction(frames => demo.group.frames > frames + 3, frames, { timeout: 0 })
    assert.ok(await isOnDevice())
    assert.equal(await page.textContent('#error'), '')
    assert.deepEqual(errors, [])
    await end()
})
