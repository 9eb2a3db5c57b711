// Materials, widths, copies and rays of reels in three.js, of a file with meshes, points and lines.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compiled, missing, start } from './chromium.js'

const skip = missing(true) ?? false
let browser

before(async () => {
    if (skip) return
    const mixed = compiled(fileURLToPath(new URL('mixed.usda', import.meta.url)))
    browser = await start({
        files: { '/mixed.reel': mixed, '/beam.reel': compiled('beam.glb', '--rig', 'only') },
    })
    await browser.page.waitForFunction(() => window.ready)
    await browser.page.evaluate(() => {
        const [width, height] = [320, 240]
        const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true, antialias: false })
        renderer.setSize(width, height, false)
        const camera = new THREE.PerspectiveCamera(40, width / height, 0.1, 1000)
        // The picture of an object; `at` reads the colour at a point of the plane z = 0.
        window.draw = (object, z = 12) => {
            const scene = new THREE.Scene()
            scene.add(object, new THREE.AmbientLight('white', Math.PI))
            camera.position.set(0, 0, z)
            camera.lookAt(0, 0, 0)
            renderer.render(scene, camera)
            const gl = renderer.getContext()
            const data = new Uint8Array(4 * width * height)
            gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data)
            const at = (x, y) => {
                const { x: right, y: up } = new THREE.Vector3(x, y, 0).project(camera)
                const column = Math.floor(((right + 1) / 2) * width)
                const pixel = 4 * (Math.floor(((up + 1) / 2) * height) * width + column)
                return [...data.slice(pixel, pixel + 3)]
            }
            return {
                data,
                at,
                render: { ...renderer.info.render },
                perUnit: height / 2 / Math.tan(Math.PI / 9) / Math.abs(z),
            }
        }
        window.load = url => new ReelLoader().loadAsync(url)
    })
})
after(async () => browser?.end())

test('h08 a mesh without vertex colours is not black, and both sides are drawn', { skip }, async () => {
    const colours = await browser.page.evaluate(async () => {
        const group = await load('/mixed.reel')
        const sides = [12, -12].map(z => {
            const { at } = draw(group, z)
            return [at(-2, 0.85), at(2, 0.85)]
        })
        await group.dispose()
        return sides
    })
    for (const [red, plain] of colours) {
        assert.ok(red[0] > 150 && red[1] < 50 && red[2] < 50, `${red}`)
        assert.ok(Math.min(...plain) > 150, `${plain}`)
    }
})

test('h08 points are as wide as each is, in a group that is scaled, and as copies', { skip }, async () => {
    const found = await browser.page.evaluate(async () => {
        const group = await load('/mixed.reel')
        for (const child of group.children) child.visible = child.isPoints === true
        // Pixels of a row through the middles of both points.
        const widths = (object, scale) => {
            const { at, perUnit } = draw(object, 24)
            const count = x => {
                let pixels = 0
                for (let i = -25; i <= 25; i++) pixels += at(scale * x + i / perUnit, 0)[0] > 127 ? 1 : 0
                return pixels
            }
            return [count(-2) / perUnit, count(2) / perUnit]
        }
        const single = widths(group, 1)
        group.scale.setScalar(2)
        const scaled = widths(group, 2)
        group.scale.setScalar(1)
        group.updateMatrixWorld()
        const cloud = group.instanced(1)
        cloud.setMatrixAt(0, new THREE.Matrix4().makeScale(2, 2, 2))
        cloud.follow()
        const copied = widths(cloud, 2)
        await group.dispose()
        return { single, scaled, copied }
    })
    const near = ([a, b], [c, d]) => Math.abs(a - c) < 0.15 && Math.abs(b - d) < 0.15
    assert.ok(near(found.single, [0.5, 1]), `${found.single}`)
    assert.ok(near(found.scaled, [1, 2]), `${found.scaled}`)
    assert.ok(near(found.copied, [1, 2]), `${found.copied}`)
})

test('h08 copies of meshes, points, lines and posed skins look as these do', { skip }, async () => {
    const found = await browser.page.evaluate(async () => {
        const outcome = {}
        for (const [name, z, clip] of [
            ['mixed', 12, null],
            ['beam', 8, 0],
        ]) {
            const group = await load(`/${name}.reel`)
            const rest = draw(group, z)
            if (clip === null) await group.still(1)
            else await group.playClip(clip, { from: 0.7, rate: 0 })
            const own = draw(group, z)
            const cloud = group.instanced(1)
            // Where the group stands is nothing to its copies.
            group.removeFromParent()
            group.position.set(3, 1, 0)
            const copy = draw(cloud, z)
            const differing = (a, b) => a.data.filter((value, i) => value !== b.data[i]).length
            const { points, lines, triangles } = copy.render
            const kinds = [points, lines, triangles].map(
                (count, i) => count === own.render[['points', 'lines', 'triangles'][i]],
            )
            outcome[name] = {
                moved: differing(rest, own),
                differ: differing(own, copy),
                kinds,
                calls: copy.render.calls,
            }
            await group.dispose()
        }
        return outcome
    })
    for (const [name, calls] of [
        ['mixed', 4],
        ['beam', 1],
    ]) {
        const { moved, differ, kinds, calls: made } = found[name]
        assert.ok(moved > 100, `${name}: ${moved} values change`)
        assert.deepEqual([name, differ, kinds, made], [name, 0, [true, true, true], calls])
    }
})

test(
    'h08 rays hit what a frame, a pose or a matrix has moved, before the next picture',
    { skip },
    async () => {
        const found = await browser.page.evaluate(async () => {
            const hits = (object, x, y) => {
                const ray = new THREE.Raycaster(new THREE.Vector3(x, y, 1000), new THREE.Vector3(0, 0, -1))
                return ray.intersectObject(object).length
            }
            const robot = await load('/testdata/golden/v0/robot_small.reel')
            await robot.still(0)
            robot.updateMatrixWorld(true)
            const before = robot.children.map(({ matrixWorld }) => matrixWorld.clone())
            await robot.still(20)
            const fresh = robot.children.every(({ matrix, matrixWorld }) => matrix.equals(matrixWorld))
            const moved = robot.children.some(({ matrixWorld }, i) => !matrixWorld.equals(before[i]))
            await robot.dispose()

            const beam = await load('/beam.reel')
            const { skin } = beam.parts[0]
            beam.updateMatrixWorld(true)
            hits(skin, 0, 0)
            const rest = skin.boundingSphere.clone()
            await beam.playClip(0, { from: 1, rate: 0, loop: false })
            hits(skin, 0, 0)
            const posed = !skin.boundingSphere.equals(rest)
            let tip = new THREE.Vector3()
            const { position } = skin.geometry.attributes
            for (let v = 0; v < position.count; v++) {
                const here = skin.getVertexPosition(v, new THREE.Vector3())
                if (rest.distanceToPoint(here) > rest.distanceToPoint(tip)) tip = here
            }
            const inside = skin.boundingSphere.distanceToPoint(tip) < 1e-5
            await beam.dispose()

            const group = await load('/mixed.reel')
            const cloud = group.instanced(1)
            cloud.updateMatrixWorld(true)
            const near = hits(cloud, -2, 0.8)
            cloud.setMatrixAt(0, new THREE.Matrix4().makeTranslation(100, 0, 0))
            cloud.follow()
            const outcome = { fresh, moved, posed, inside, near: near > 0, far: hits(cloud, 98, 0.8) > 0 }
            await group.dispose()
            return outcome
        })
        assert.deepEqual(found, {
            fresh: true,
            moved: true,
            posed: true,
            inside: true,
            near: true,
            far: true,
        })
    },
)

test('h08 a worker or module that cannot be loaded: the error has the address', { skip }, async () => {
    const page = await browser.page.context().browser().newPage()
    await page.goto(browser.server.url('/bindings/web/test/browser/page.html'))
    await page.waitForFunction(() => window.ready)
    const fails = () =>
        page.evaluate(() =>
            load('/testdata/golden/v0/square.reel').then(
                () => null,
                ({ class: kind, message }) => `${kind}: ${message}`,
            ),
        )
    await page.evaluate(() => (window.load = url => new ReelLoader().loadAsync(url)))
    await page.route('**/meshreel.worker.js', route => route.fulfill({ status: 404 }))
    assert.match(
        await fails(),
        /^Io: http:.*\/dist\/meshreel\.worker\.js: the worker could not be loaded; .*meshreel\/inline/,
    )
    await page.unroute('**/meshreel.worker.js')
    const html = { contentType: 'text/html', body: '<!doctype html><title>an application</title>' }
    await page.route('**/meshreel.wasm', route => route.fulfill(html))
    const message = await fails()
    assert.match(
        message,
        /^Io: http:.*\/dist\/meshreel\.wasm: this is no WebAssembly module: it begins with "<!doctype html>/,
    )
    assert.match(message, /sent as text\/html/)
    await page.unroute('**/meshreel.wasm')
    assert.equal(await fails(), null)
    await page.close()
})
