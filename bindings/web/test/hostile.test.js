// Bad input through the door: errors of the right class, the last good frame stays, and nothing stops.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Decoder, open } from '../src/index.js'
import { golden } from './golden.js'
import { serve } from './server.js'

const fails = (promise, kind, pattern = /./) =>
    assert.rejects(promise, error => error.class === kind && pattern.test(error.message) || assert.fail(`${error.class}: ${error.message}`))

test('h07 errors have their class', async () => {
    const options = { worker: false }
    await fails(open(new Uint8Array(1000), options), 'Malformed', /not a \.reel/)
    await fails(open(new Uint8Array(0), options), 'Malformed')
    await fails(open(golden('v0/flag_small.reel').subarray(0, 9000), options), 'Malformed', /only in part/)
    await fails(open(42, options), 'Misuse')
    const newer = golden('v0/square.reel').slice()
    newer[8] = 99
    await fails(open(newer, options), 'Unsupported')
    const server = await serve({ files: {} })
    await fails(open(server.url('/none.reel'), options), 'Io', /404/)
    const gone = server.url('/gone.reel')
    await server.close()
    await fails(open(gone, options), 'Io', /connection/)
})

test('h07 too little memory says so', async () => {
    const flag = golden('v0/wall_packed.reel')
    await fails(open(flag, { worker: false, memory: 1 << 20 }), 'Misuse', /memory/)
    await fails(open(flag, { worker: false, memory: 40 << 20, heap: 23 << 20 }), 'Limit', /asked/)
    // Memory that runs out where no limit foresees it: the module stops, and says why.
    const decoder = await Decoder.create({ worker: false, memory: 24 << 20, heap: 4 << 20 })
    const wasm = decoder.core.wasm
    assert.throws(() => wasm.input(new Uint8Array(22 << 20)), error => error.class === 'Limit' && /memory/.test(error.message))
    assert.throws(() => wasm.call('tick', 0), error => error.class === 'Limit')
})

test('h07 every flipped byte of a small file is refused or shows something, and nothing stops', async () => {
    const square = golden('v0/square.reel')
    const decoder = await Decoder.create({ worker: false })
    let refused = 0
    for (let at = 0; at < square.length; at++) {
        const damaged = square.slice()
        damaged[at] ^= 1 << (at % 8)
        try {
            const reel = await decoder.open(damaged)
            try {
                for (let n = 0; n < Math.min(reel.description.frames, 4); n++) await reel.instance.still(n, true)
            } finally {
                await reel.close()
            }
        } catch (error) {
            assert.ok(['Malformed', 'Unsupported', 'Limit'].includes(error.class), `byte ${at}: ${error.class}: ${error.message}`)
            refused++
        }
    }
    assert.ok(refused > square.length / 2, `${refused} of ${square.length}`)
    const reel = await decoder.open(square)
    assert.equal((await reel.instance.still(0, true)).first, 0)
    assert.equal(reel.error, null, 'what was told of others is not told of this one')
})

test('h07 a damaged frame is told, others play', async () => {
    const flag = golden('v0/flag_small.reel').slice()
    // The last units lie before the tables: what begins the file is whole.
    flag.fill(0x55, flag.length / 2, flag.length / 2 + 64)
    const reel = await open(flag, { worker: false })
    assert.equal((await reel.instance.still(0, true)).first, 0)
    const { frames } = reel.description
    const found = []
    for (let n = 0; n < frames; n++) await reel.instance.still(n).catch(error => found.push(error.class))
    assert.ok(found.length > 0 && found.length < frames && found.every(kind => kind === 'Malformed'), `${found}`)
    assert.equal(reel.error.class, 'Malformed')
    await reel.close()
})

test('h07 a connection that is lost while playing: the last good frame stays, and it goes on when it is back', async () => {
    const server = await serve({ files: { '/wall.reel': golden('v0/wall_packed.reel') } })
    const reel = await open(server.url('/wall.reel'), { worker: false, resident: 0, readSize: 8 << 10 })
    // Frames begin at 123,650.
    server.lost = [126_700, 186_700]
    const good = await reel.instance.still(0, true)
    assert.equal(good.first, 0)
    await fails(reel.instance.still(reel.description.frames - 1), 'Io', /connection/)
    assert.equal(reel.error.class, 'Io')
    await reel.decoder.tick(0)
    assert.ok(reel.instance.frame.late && reel.instance.frame.first === 0, 'what was shown stays')
    server.lost = null
    const last = reel.description.frames - 1
    for (let n = 0; n < 500 && (reel.instance.frame.late || reel.instance.frame.first !== last); n++) {
        await reel.decoder.tick(0.02)
        await new Promise(resolve => setTimeout(resolve, 1))
    }
    assert.equal(reel.instance.frame.first, last)
    assert.equal(reel.error, null, 'it has recovered')
    await reel.close()
    await server.close()
})

test('h07 an empty file, and an HTML page instead of a file, are named', async () => {
    const page = Buffer.from('<!doctype html><title>an application</title>')
    const server = await serve({ files: { '/empty.reel': Buffer.alloc(0), '/page.html': page } })
    const options = { worker: false }
    await fails(open(new Uint8Array(0), options), 'Malformed', /\(memory\): the file is empty \(0 bytes\)/)
    for (const ranges of [true, false]) {
        server.ranges = ranges
        await fails(open(server.url('/empty.reel'), options), 'Malformed', /empty\.reel: the file is empty/)
        await fails(open(server.url('/page.html'), options), 'Io', /page\.html: the server sent an HTML page/)
    }
    const square = golden('v0/square.reel')
    const modules = [
        [server.url('/page.html'), /page\.html: this is no .* begins with "<!doctype html>.*sent as text\/html/],
        [server.url('/empty.reel'), /empty\.reel: this is no WebAssembly module: it is empty/],
        [server.url('/none.wasm'), /none\.wasm: .* not be fetched: the server answers 404.*meshreel\/inline/],
        [Uint8Array.of(1, 2, 3), /no WebAssembly module/],
    ]
    for (const [module, pattern] of modules) await fails(open(square, { ...options, module }), 'Io', pattern)
    await server.close()
})

test('h07 numbers that mean nothing are refused in a sentence, and nothing changes', async () => {
    const reel = await open(golden('v0/flag_small.reel'), { worker: false })
    const { instance, decoder } = reel
    const { frames } = reel.description
    await instance.still(3)
    for (const frame of [frames, -1, 1.5, NaN, '2', undefined]) {
        for (const call of [instance.still(frame), instance.seekFrame(frame), instance.frames(0, frame)]) {
            await fails(call, 'Misuse', /^there is no frame .*: frames are 0 to 37$/)
        }
    }
    await fails(instance.frames(20, 10), 'Misuse', /^frames: the last one, 10, comes before the first, 20$/)
    for (const value of [NaN, Infinity, 'fast', undefined]) {
        await fails(instance.seek(value), 'Misuse', /seek: seconds must be a finite number, not/)
        await fails(instance.rate(value), 'Misuse', /rate must be a finite number, not/)
        await fails(decoder.tick(value), 'Misuse', /tick: seconds must be a finite number, not/)
    }
    await fails(instance.rate('fast'), 'Misuse', /not 'fast'/)
    await fails(instance.repeat('twice'), 'Misuse', /once, loop, pingPong, cycle, not twice/)
    await fails(reel.pose(0, 0), 'Misuse', /there is no clip 0: the file has none/)
    assert.equal((await instance.shown()).first, 3)
    await reel.close()
    const clips = await open(golden('clips/random_access.reel'), { worker: false })
    await fails(clips.pose(2, 0), 'Misuse', /there is no clip 2: the clips are 0 'walk', 1 'run'/)
    await fails(clips.pose('crawl', 0), 'Misuse', /there is no clip 'crawl': the clips are 0 'walk', 1 'run'/)
    await fails(clips.pose(0, NaN), 'Misuse', /finite/)
    assert.deepEqual(await clips.pose('run', 0.5), await clips.pose(1, 0.5))
    await clips.close()
})
