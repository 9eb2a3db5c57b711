// Reels on a graphics device in a real browser: what it makes is what the processor makes.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { compiled, missing, start } from './chromium.js'

const WEBGPU = ['--enable-unsafe-webgpu', '--enable-features=Vulkan', '--use-vulkan=swiftshader', '--use-angle=swiftshader']
const NONE = 'this Chromium has no WebGPU adapter: a driver for the card, or a Chromium that brings SwiftShader, is needed'
const skip = missing() ?? false
const skipCompiled = missing(true) ?? false
let browser
let hasDevice = false

before(async () => {
    if (skip) return
    browser = await start({ isolated: true, flags: WEBGPU })
    await browser.page.waitForFunction(() => window.ready)
    hasDevice = await browser.page.evaluate(async () => {
        window.card = await import('/bindings/web/test/browser/card.js')
        window.device = await card.newDevice()
        return window.device !== null
    })
})
after(async () => browser?.end())

/** A test that needs a device. */
const onDevice = (name, run, skipped = skip) =>
    test(name, { skip: skipped }, t => (hasDevice ? run(t) : t.skip(NONE)))

const MOMENTS = [[0, 0], [0, 0.5], [3, 0], [7, 0.3], [-2, 0.75], [-1, 0]]
const parity = (url, options = {}) =>
    browser.page.evaluate(([url, moments, options]) => card.parity(device, url, moments, options), [url, MOMENTS, options])

/** Within what docs/GPU.md promises; where bones move points one unit of them more. */
function assertClose({ farthest, compared, dispatches, error }, unit = 0) {
    assert.equal(error, null)
    assert.ok(compared > 0 && dispatches > 0, `${compared} meshes, ${dispatches} dispatches`)
    // An ulp of the extent is 2⁻²³ of it at most.
    assert.ok(farthest.position <= 2 ** -23 + unit, `positions: ${farthest.position} of the extent`)
    assert.ok(farthest.degrees <= 0.02, `directions: ${farthest.degrees} degrees`)
    assert.ok(farthest.sign === 0 && farthest.uv <= 1e-6 && farthest.colour <= 1.001 / 255, JSON.stringify(farthest))
}

const FILES = ['flag_small', 'flag_fast', 'flag_wide', 'flag_apart', 'robot_small', 'snake_small', 'square', 'wall_packed', 'wall_fast']
for (const name of FILES) {
    onDevice(`h11 ${name}: vertices that the device makes are those of the frame`, async () => {
        const result = await parity(`/testdata/golden/v0/${name}.reel`)
        console.log(name, JSON.stringify(result))
        assertClose(result)
    })
}
