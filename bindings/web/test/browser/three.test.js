// Reels in three.js, in a real browser: the pictures are the program's.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertSame, compiled, corpus, golden, missing, pictureOf, SIZE, start, WEBGPU } from './chromium.js'

const skip = missing() ?? false
const skipPictures = missing(true) ?? false
let browser

before(async () => {
    if (!skip) browser = await start({ isolated: true })
    await browser?.page.waitForFunction(() => window.ready)
})
after(async () => browser?.end())

const PICTURES = [['flag_small', 0], ['flag_small', 20], ['snake_small', 15], ['wall_packed', 30], ['robot_small', 10]]
for (const [name, frame] of PICTURES) {
    test(`h08 frame ${frame} of ${name} covers what the program's picture covers`, { skip: skipPictures }, async () => {
        const { camera, covered } = pictureOf(golden(`v0/${name}.reel`), frame, SIZE)
        const found = await browser.page.evaluate(
            async ([url, frame, camera]) => {
                const group = await new ReelLoader().loadAsync(url)
                await group.still(frame)
                const found = coverage(group, camera)
                await group.dispose()
                return found
            },
            [`/testdata/golden/v0/${name}.reel`, frame, camera],
        )
        assertSame(covered, found)
    })
}

test('h08 frames are counted: each is shown once, in shared memory, and values change in place', { skip }, async () => {
    const result = await browser.page.evaluate(async () => {
        const group = await new ReelLoader().loadAsync('/testdata/golden/v0/flag_small.reel')
        const { frames, duration } = group.reel.description
        const part = group.parts[0]
        const [array, index] = [part.geometry.attributes.position.array, part.geometry.index.array]
        const seen = new Set()
        const before = array.slice()
        group.reel.instance.onFrame = frame => (group.apply(frame), frame.late || seen.add(frame.first))
        await group.reel.instance.interpolate(false)
        await group.play()
        await group.update(duration / (frames - 1) / 2)
        for (let n = 1; n < frames; n++) await group.update(duration / (frames - 1))
        const position = part.geometry.attributes.position
        const outcome = {
            frames,
            seen: seen.size,
            shared: group.reel.decoder.shared,
            inPlace: position.array === array && part.geometry.index.array === index,
            moved: array.some((value, i) => value !== before[i]),
            normalized: position.normalized && array instanceof Uint16Array,
            updates: position.updateRanges.length,
            usage: position.usage === THREE.DynamicDrawUsage,
        }
        await group.dispose()
        return outcome
    })
    assert.equal(result.seen, result.frames)
    const { shared, inPlace, moved, normalized, updates, usage } = result
    assert.deepEqual(
        { shared, inPlace, moved, normalized, updates, usage },
        { shared: true, inPlace: true, moved: true, normalized: true, updates: 1, usage: true },
    )
})

test('h08 load, loadAsync and parse, the loading manager, and errors with their class', { skip }, async () => {
    const result = await browser.page.evaluate(async () => {
        const url = '/testdata/golden/v0/square.reel'
        const manager = new THREE.LoadingManager()
        const told = []
        manager.onLoad = () => told.push('all')
        manager.onError = address => told.push(address)
        const loader = new ReelLoader(manager).setPath('/testdata/golden/v0/')
        const loaded = await new Promise((resolve, reject) => loader.load('square.reel', resolve, undefined, reject))
        const bytes = await (await fetch(url)).arrayBuffer()
        const parsed = await loader.parse(bytes)
        const meshes = [loaded, parsed].map(group => group.children.filter(child => child.isMesh).length)
        const missing = await loader.loadAsync('none.reel').catch(error => error.class)
        const damaged = await loader.parse(new ArrayBuffer(500)).catch(error => error.class)
        await Promise.all([loaded.dispose(), parsed.dispose()])
        return { meshes, missing, damaged, told, left: loaded.children.length }
    })
    assert.ok(result.meshes[0] > 0 && result.meshes[0] === result.meshes[1])
    assert.deepEqual([result.missing, result.damaged, result.left], ['Io', 'Malformed', 0])
    assert.ok(result.told.includes('all') && result.told.some(address => address.endsWith('none.reel')))
})

test('h08 clips are poses on a skeleton', { skip }, async () => {
    const result = await browser.page.evaluate(async () => {
        const group = await new ReelLoader().loadAsync('/testdata/golden/clips/random_access.reel')
        const pose = async seconds => {
            await group.playClip(0, { from: seconds, rate: 0 })
            await group.update(0.1)
            group.updateMatrixWorld(true)
            return group.skeletons[0].bones.flatMap(bone => bone.matrixWorld.toArray())
        }
        const [a, b] = [await pose(0), await pose(group.clips[0].duration / 2)]
        const bones = group.skeletons[0].bones.length
        const refused = await group.playClip('crawl').catch(({ message }) => message)
        await group.dispose()
        const moved = a.some((x, i) => Math.abs(x - b[i]) > 1e-4)
        return { bones, refused, finite: [...a, ...b].every(Number.isFinite), moved }
    })
    assert.ok(result.bones > 1 && result.finite && result.moved)
    assert.equal(result.refused, "there is no clip 'crawl': the clips are 0 'walk', 1 'run'")
})

test('h08 without shared memory frames are given away', { skip }, async () => {
    const other = await start()
    await other.page.waitForFunction(() => window.ready)
    const result = await other.page.evaluate(async () => {
        const group = await new ReelLoader().loadAsync('/testdata/golden/v0/flag_small.reel')
        await group.play({ loop: true })
        for (let n = 0; n < 200; n++) await group.update(1 / 60)
        const { shared } = group.reel.decoder
        const { late, first } = group.reel.instance.frame
        await group.dispose()
        return { isolated: crossOriginIsolated, shared, late, first }
    })
    assert.deepEqual([result.isolated, result.shared, result.late], [false, false, false])
    assert.deepEqual(other.errors, [])
    await other.end()
})

test('h08 LOD levels are chosen by their error in pixels', { skip: skipPictures }, async () => {
    browser.server.files['/lod.reel'] = compiled('a_flag_wind.abc', '--lod', '2')
    const result = await browser.page.evaluate(async () => {
        const group = await new ReelLoader().loadAsync('/lod.reel')
        const part = group.parts.find(({ levels }) => levels.length > 1)
        const drawn = () => part.geometry.groups.reduce((sum, { count }) => sum + count, 0) / 3
        const camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1e6)
        const from = distance => {
            camera.position.set(0, 0, distance)
            camera.updateMatrixWorld()
            group.updateMatrixWorld(true)
            group.selectLevels(camera, 1000)
            return drawn()
        }
        const counts = [from(2), from(1e5), from(2)]
        group.setLevel(1)
        const outcome = { counts, one: drawn(), errors: part.levels.map(({ error }) => error) }
        await group.dispose()
        return outcome
    })
    const [near, far, again] = result.counts
    assert.ok(near === again && result.one < near && far < result.one, JSON.stringify(result))
    assert.ok(result.errors[0] === 0 && result.errors[1] > 0 && result.errors[2] >= result.errors[1], `${result.errors}`)
})

test('h08 a skin that its clip moves is where frames put the mesh', { skip: skipPictures }, async t => {
    const walk = corpus('gltf/CesiumMan.glb')
    if (!walk) return t.skip('the corpus is not here (MESHREEL_CORPUS)')
    browser.server.files['/rig.reel'] = compiled(walk, '--rig', 'keep')
    const result = await browser.page.evaluate(async () => {
        const loader = new ReelLoader()
        loader.skins = false
        const frames = await loader.loadAsync('/rig.reel')
        loader.skins = true
        const skins = await loader.loadAsync('/rig.reel')
        const [mesh] = frames.parts[0].objects
        const { skin } = skins.parts[0]
        let [farthest, size] = [0, 0]
        for (const frame of [0, 11, 30]) {
            await frames.still(frame)
            const { times } = frames.reel.description
            await skins.playClip(0, { from: times[frame] - skins.clips[0].start, rate: 0 })
            for (const group of [frames, skins]) group.updateMatrixWorld(true)
            const [a, b] = [new THREE.Vector3(), new THREE.Vector3()]
            for (let v = 0; v < skin.geometry.attributes.position.count; v++) {
                mesh.getVertexPosition(v, a).applyMatrix4(mesh.matrixWorld)
                skin.getVertexPosition(v, b).applyMatrix4(skin.matrixWorld)
                farthest = Math.max(farthest, a.distanceTo(b))
                size = Math.max(size, a.length())
            }
        }
        await Promise.all([frames.dispose(), skins.dispose()])
        return { farthest, size }
    })
    assert.ok(result.size > 0 && result.farthest < 2e-3 * result.size, JSON.stringify(result))
})

test('h08 on three’s WebGPU renderer the picture is the program’s', { skip: skipPictures }, async t => {
    const { camera, covered } = pictureOf(golden('v0/flag_small.reel'), 20, SIZE)
    const other = await start({ flags: WEBGPU })
    await other.page.waitForFunction(() => window.ready)
    const found = await other.page.evaluate(async camera => {
        const group = await new ReelLoader().loadAsync('/testdata/golden/v0/flag_small.reel')
        await group.still(20)
        return coverageOnWebGpu(group, camera)
    }, camera)
    await other.end()
    if (found === null) return t.skip('this Chromium has no WebGPU')
    assertSame(covered, found)
})
