// What is shown of the conformance set are the numbers of its sources.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { open } from '../src/index.js'

const root = new URL('../../../', import.meta.url)
const folder = new URL('testdata/conformance/', root)
const metres = { m: 1, cm: 0.01, mm: 0.001, in: 0.0254 }

const list = values => (values === undefined ? undefined : Array.from(values))

function node(reel, frame, number) {
    const { path, mesh } = reel.description.nodes[number]
    const { visible, world } = frame.nodes[number]
    const values = what => list(frame.find(what, mesh, 0)?.values)
    const record = reel.description.meshes[mesh]
    return {
        path,
        visible,
        world: list(world),
        positions: values('position'),
        normals: values('normal'),
        uvs: values('uv'),
        colours: values('colour'),
        widths: record.kind === 'mesh' ? undefined : values('width'),
        indices: values('indices') ?? [],
        materials: record.materials.map(({ name, count }) => ({ name, count })),
    }
}

function camera(reel, frame, own) {
    const world = frame.nodes[own.node].world
    const column = (number, sign = 1) => [0, 1, 2].map(row => sign * world[4 * row + number])
    const [first, second] = [frame.first, frame.second].map(number => own.lenses[own.animated ? number : 0].focalLength)
    return {
        path: own.path,
        right: column(0),
        up: column(1),
        forward: column(2, -1),
        eye: column(3),
        focal_length: first + frame.blend * (second - first),
    }
}

const product = (a, b) =>
    a.map((row, r) => [0, 1, 2, 3].map(c => row[0] * b[0][c] + row[1] * b[1][c] + row[2] * b[2][c] + (c === 3 ? a[r][3] : 0)))

async function joints(reel, seconds) {
    const { clips, skeletons } = await reel.clips()
    const pose = await reel.pose(0, seconds)
    const objects = []
    return skeletons[clips[0].skeleton].joints.map(({ name, parent }, joint) => {
        const [x, y, z, w, ...place] = pose.subarray(10 * joint, 10 * joint + 7)
        const local = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), place[0]],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), place[1]],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), place[2]],
        ]
        objects.push(parent === null ? local : product(objects[parent], local))
        const column = number => objects[joint].map(row => row[number])
        return { name, position: column(3), axes: [0, 1, 2].flatMap(column) }
    })
}

async function moment(reel, seconds) {
    if (reel.description.frames === 0) return { seconds, joints: await joints(reel, seconds) }
    await reel.instance.pause()
    await reel.instance.seek(seconds)
    const frame = await reel.instance.shown(true)
    const nodes = reel.description.nodes.flatMap(({ mesh }, number) => (mesh === null ? [] : [node(reel, frame, number)]))
    const cameras = (await reel.cameras()).map(own => camera(reel, frame, own))
    return { seconds, nodes, cameras }
}

test('the conformance set shows the numbers of its sources', async () => {
    const files = {}
    for (const line of readFileSync(new URL('moments.txt', folder), 'utf8').trim().split('\n')) {
        const [name, ...times] = line.split(' ')
        const reel = await open(readFileSync(new URL(name, folder)), { worker: false, exact: true, name })
        const moments = []
        for (const time of times) moments.push(await moment(reel, Number(time)))
        files[name] = { metres: metres[reel.description.unit] ?? 1, moments }
        await reel.close()
    }
    const work = mkdtempSync(join(tmpdir(), 'meshreel-'))
    const shown = join(work, 'shown.json')
    writeFileSync(shown, JSON.stringify({ engine: 'web', files }))
    const check = fileURLToPath(new URL('tools/conformance/check.py', root))
    const done = await promisify(execFile)('python3', [check, shown]).catch(error => error)
    rmSync(work, { recursive: true })
    assert.ok(!done.code, done.stdout)
})
