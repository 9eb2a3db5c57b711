// Reels on a graphics device in a real browser: what it makes is what the processor makes.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertSame, compiled, golden, missing, pictureOf, SIZE, start, WEBGPU } from './chromium.js'

const NO_ADAPTER = 'this Chromium has no WebGPU adapter: a driver for the card, or a Chromium that brings SwiftShader, is needed'
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
        window.refusals = []
        window.device?.addEventListener('uncapturederror', ({ error }) => refusals.push(error.message))
        return window.device !== null
    })
})
after(async () => browser?.end())

/** Tests that need a device. */
const onDevice = {
    test: (name, run, skipped = skip) => test(name, { skip: skipped }, t => (hasDevice ? run(t) : t.skip(NO_ADAPTER))),
}

const MOMENTS = [[0, 0], [0, 0.5], [3, 0], [7, 0.3], [-2, 0.75], [-1, 0]]
const parity = (url, options = {}) =>
    browser.page.evaluate(([url, moments, options]) => card.parity(device, url, moments, options), [url, MOMENTS, options])

/** Within what docs/GPU.md promises. */
function assertClose({ farthest, compared, dispatches, error }) {
    assert.equal(error, null)
    assert.ok(compared > 0 && dispatches > 0, `${compared} meshes, ${dispatches} dispatches`)
    // An ulp of the extent is 2⁻²³ of it at most.
    assert.ok(farthest.position <= 2 ** -23, `positions: ${farthest.position} of the extent`)
    assert.ok(farthest.degrees <= 0.02, `directions: ${farthest.degrees} degrees`)
    assert.ok(farthest.sign === 0 && farthest.uv <= 1e-6 && farthest.colour <= 1.001 / 255, JSON.stringify(farthest))
}

const FILES = ['flag_small', 'flag_fast', 'flag_wide', 'flag_apart', 'robot_small', 'snake_small', 'square', 'wall_fast']
for (const name of FILES) {
    onDevice.test(`h11 ${name}: vertices that the device makes are those of the frame`, async () => {
        assertClose(await parity(`/testdata/golden/v0/${name}.reel`))
    })
}

onDevice.test('h11 packed transforms are unpacked on the device', async () => {
    const result = await parity('/testdata/golden/v0/wall_packed.reel')
    assert.deepEqual(result.methods, ['rigid'])
    assertClose(result)
})

for (const name of ['flag_fast', 'flag_wide', 'wall_fast']) {
    onDevice.test(`h11 ${name}: units are decoded on the device, to the same vertices`, async () => {
        const url = `/testdata/golden/v0/${name}.reel`
        const [cpu, own] = [await parity(url, { units: false }), await parity(url, { units: true })]
        assertClose(cpu)
        assertClose(own)
        if (name === 'flag_fast') assert.ok(own.dispatches > cpu.dispatches, `${own.dispatches} and ${cpu.dispatches} dispatches`)
    })
}

const INPUTS = [
    ['e_metaballs.abc', ['fluid'], []],
    ['e_metaballs.abc', ['fluid'], ['--preset', 'classic']],
    ['a_flag_wind.abc', ['soft'], ['--preset', 'classic']],
    ['a_flag_wind.abc', ['soft'], ['--preset', 'fast', '--lod', '2']],
    ['g_scene_attributes.abc', null, []],
    ['m_scale_shear.abc', null, []],
    ['j_visibility_particles.abc', null, []],
    ['n_robot_bone_parented.abc', null, []],
]
for (const [input, methods, options] of INPUTS) {
    const run = async () => {
        browser.server.files['/made.reel'] = compiled(input, ...options)
        const result = await parity('/made.reel')
        if (methods) methods.forEach(method => assert.ok(result.methods.includes(method), `${result.methods}`))
        assertClose(result)
    }
    onDevice.test(`h11 ${[input, ...options].join(' ')}: vertices that the device makes are those of the frame`, run, skipCompiled)
}

onDevice.test('h11 the comparison tells one frame from another', async () => {
    const apart = frames =>
        browser.page.evaluate(frames => card.apart(device, '/testdata/golden/v0/flag_small.reel', frames), frames)
    const [same, other] = [await apart([3, 3]), await apart([3, 4])]
    assert.ok(same.position === 0 && other.position > 1e-4 && other.degrees > 0.1, JSON.stringify([same, other]))
})

onDevice.test('h11 vertices of the moment before stay for motion vectors', async () => {
    const result = await browser.page.evaluate(() => card.previous(device, '/testdata/golden/v0/flag_small.reel'))
    assert.deepEqual(result, { kept: true, moved: true })
})

onDevice.test('h11 two instances play in a loop, recorded into an encoder; what is not recorded waits', async () => {
    const result = await browser.page.evaluate(() => card.play(device, '/testdata/golden/v0/snake_small.reel', 2))
    assert.equal(result.error, null)
    assert.ok(result.seen.every(count => count > 60), `${result.seen} moments`)
    assert.ok(result.own && result.kept && result.gone, JSON.stringify(result))
    assert.ok(result.late.filter(late => late).length < result.late.length / 10)
})

onDevice.test('h11 a device that is lost is an error of its class, and everything is there on the next one', async () => {
    const result = await browser.page.evaluate(() => card.lose('/testdata/golden/v0/snake_small.reel'))
    const { lost, recorded, restored, farthest } = result
    assert.deepEqual({ lost, recorded, restored }, { lost: 'Io', recorded: 'Io', restored: null })
    assert.ok(farthest.position <= 2 ** -23 && farthest.degrees <= 0.02, JSON.stringify(farthest))
})

onDevice.test('h11 what cannot be is refused with its class, before anything is made', async () => {
    const refused = options =>
        browser.page.evaluate(options => card.refused(device, '/testdata/golden/v0/flag_small.reel', options), options)
    assert.match(await refused({ ring: 1000 }), /^Limit: .*ring/)
    assert.match(await refused({ attributes: [['position', 'float32x2']] }), /^Misuse: .*possible/)
    assert.match(await refused({ attributes: [['weight', 'float32x2']] }), /^Misuse: .*position/)
    assert.match(await refused({ attributes: [] }), /^Misuse/)
    assert.match(await refused({ units: 'yes' }), /^Misuse/)
    assert.match(await refused({ module: '/bindings/web/dist/meshreel.wasm' }), /^Misuse: .*module/)
    assert.equal(await refused({}), null)
})

const PICTURES = [['flag_small', 20], ['snake_small', 15], ['wall_packed', 30], ['robot_small', 10]]
for (const [name, frame] of PICTURES) {
    const run = async () => {
        const { camera, covered } = pictureOf(golden(`v0/${name}.reel`), frame, SIZE)
        const url = `/testdata/golden/v0/${name}.reel`
        const arguments_ = [url, frame, camera]
        const found = await browser.page.evaluate(([url, frame, camera]) => card.renderFrame(device, url, frame, camera), arguments_)
        assertSame(covered, found)
    }
    onDevice.test(`h11 frame ${frame} of ${name}, drawn from the device's vertices, covers what the program's picture covers`, run, missing(true) ?? false)
}

for (const [name, frame] of PICTURES) {
    const run = async () => {
        const { camera, covered } = pictureOf(golden(`v0/${name}.reel`), frame, SIZE)
        const result = await browser.page.evaluate(
            async ([url, frame, camera]) => {
                const { WebGPURenderer } = await import('three/webgpu')
                const loader = new ReelLoader()
                loader.renderer = new WebGPURenderer({ antialias: false })
                const group = await loader.loadAsync(url)
                await group.still(frame)
                const found = await coverageOnWebGpu(group, camera, loader.renderer)
                const { type, error, gpu } = group
                await group.dispose()
                loader.renderer.dispose()
                return { type, found, error, there: gpu.onDevice.buffers.size }
            },
            [`/testdata/golden/v0/${name}.reel`, frame, camera],
        )
        assert.deepEqual([result.type, result.error, result.there], ['GpuReelGroup', null, 0])
        assertSame(covered, result.found)
    }
    onDevice.test(`h12 frame ${frame} of ${name} in three.js, vertices made on its renderer's device`, run, missing(true) ?? false)
}

onDevice.test('h11 a device within the limits that all have was asked for nothing else', async () => {
    assert.deepEqual(await browser.page.evaluate(() => refusals), [])
    assert.deepEqual(browser.errors, [])
})
