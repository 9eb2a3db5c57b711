// What the module shows is what the native runtime shows, bit for bit, whatever way the bytes come.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Decoder, hasSimd, moduleAddress, open } from '../src/index.js'
import { digest, digests, golden } from './golden.js'
import { serve } from './server.js'

const modules = [['simd', moduleAddress(false)], ['scalar', moduleAddress(true)]]

for (const [name, module] of modules) {
    test(`h07 every golden file shows what it shows natively (${name})`, async () => {
        assert.ok(name === 'scalar' || hasSimd())
        const decoder = await Decoder.create({ worker: false, module })
        for (const [expected, file] of digests()) {
            const reel = await decoder.open(golden(`v0/${file}`), { name: file, exact: true })
            assert.equal(await digest(reel), expected, file)
            await reel.close()
        }
        decoder.dispose()
    })
}

test('h07 a worker with shared memory, with memory that is given away, and none: the same', async () => {
    const [expected, file] = digests().find(([, file]) => file === 'flag_small.reel')
    for (const options of [{ shared: true }, { shared: false }, { worker: false }]) {
        const reel = await open(golden(`v0/${file}`), { ...options, exact: true })
        assert.equal(reel.decoder.worker === undefined, options.worker === false)
        assert.equal(await digest(reel), expected)
        await reel.close()
    }
})

test('h07 ranges: a file opens in at most three requests, and not all of it is fetched', async () => {
    const bytes = golden('v0/wall_packed.reel')
    const server = await serve({ files: { '/wall.reel': bytes } })
    const reel = await open(server.url('/wall.reel'), { worker: false, exact: true })
    const opening = server.requests.length
    assert.ok(opening <= 3, `${opening} requests`)
    assert.ok(server.requests.every(request => request.range), 'by ranges alone')
    assert.ok(reel.ranges.reduce((sum, [, size]) => sum + size, 0) < bytes.length, 'not all of it')
    const [expected] = digests().find(([, file]) => file === 'wall_packed.reel')
    assert.equal(await digest(reel), expected)
    await reel.close()
    await server.close()
})

test('h07 a server without ranges gives the whole file, of which what is there plays', async () => {
    const server = await serve({ files: { '/wall.reel': golden('v0/wall_packed.reel') }, ranges: false })
    const reel = await open(server.url('/wall.reel'), { worker: false, exact: true })
    assert.equal(server.requests.length, 1)
    const [expected] = digests().find(([, file]) => file === 'wall_packed.reel')
    assert.equal(await digest(reel), expected)
    await reel.close()
    await server.close()
})

test('h07 a worker starts in a program from the command line', async () => {
    const program = `
        import { readFileSync } from 'node:fs'
        import { open } from './src/index.js'
        const reel = await open(readFileSync('../../testdata/golden/v0/flag_small.reel'))
        console.log(reel.decoder.worker !== undefined, reel.description.frames)
        process.exit()`
    const directory = fileURLToPath(new URL('..', import.meta.url))
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, ['--input-type', 'module', '--eval', program], { cwd: directory })
    assert.equal(stdout, 'true 38\n')
})

test('h07 a signal ends an opening, with a worker and without one', async () => {
    const server = await serve({ files: { '/wall.reel': golden('v0/wall_packed.reel') }, held: true })
    for (const worker of [true, false]) {
        const decoder = await Decoder.create({ worker })
        const late = new AbortController()
        const opening = decoder.open(server.url('/wall.reel'), { signal: late.signal })
        setTimeout(() => late.abort(), 50)
        await assert.rejects(opening, { name: 'AbortError' })
        const early = AbortSignal.abort(new Error('not wanted'))
        await assert.rejects(decoder.open(server.url('/wall.reel'), { signal: early }), /not wanted/)
        // The decoder opens others afterwards; a signal that comes after an opening has no effect.
        server.held = null
        const after = new AbortController()
        const reel = await decoder.open(server.url('/wall.reel'), { signal: after.signal, exact: true })
        after.abort()
        const [expected] = digests().find(([, file]) => file === 'wall_packed.reel')
        assert.equal(await digest(reel), expected)
        decoder.dispose()
        server.held = true
    }
    await server.close()
})

test('h07 blobs, and clips that play as they should', async () => {
    const reel = await open(new Blob([golden('clips/random_access.reel')]), { worker: false })
    const { skeletons, clips } = await reel.clips()
    assert.ok(clips.length > 0 && skeletons[clips[0].skeleton].joints.length > 0)
    const joints = skeletons[clips[0].skeleton].joints.length
    const pose = await reel.pose(0, clips[0].duration / 2)
    assert.equal(pose.length, 10 * joints)
    for (let joint = 0; joint < joints; joint++) {
        const [x, y, z, w] = pose.subarray(10 * joint, 10 * joint + 4)
        assert.ok(Math.abs(Math.hypot(x, y, z, w) - 1) < 1e-3, 'a rotation')
    }
    await reel.close()
})

test('h07 clocks: frames are counted forwards, backwards and in a loop', async () => {
    const reel = await open(golden('v0/flag_small.reel'), { worker: false })
    const { frames, duration } = reel.description
    const seen = []
    reel.instance.onFrame = frame => frame.late || seen.push(frame.first)
    await reel.instance.interpolate(false)
    await reel.instance.play()
    const step = duration / (frames - 1)
    // The first tick starts it; halfway between frames nothing depends on rounding.
    await reel.decoder.tick(step / 2)
    for (let n = 1; n < frames; n++) await reel.decoder.tick(step)
    assert.deepEqual([...new Set(seen)], Array.from({ length: frames }, (_, n) => n))
    seen.length = 0
    await reel.instance.rate(-1)
    await reel.instance.seekFrame(frames - 1)
    await reel.instance.play()
    await reel.decoder.tick(step / 2)
    for (let n = 1; n < frames; n++) await reel.decoder.tick(step)
    const back = [...new Set(seen)]
    assert.deepEqual(back, [...back].sort((a, b) => b - a))
    assert.ok(back.length >= frames - 1, `${back.length} of ${frames}`)
    await reel.close()
})
