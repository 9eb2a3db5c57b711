// `meshreel/inline` in Node: worker and module come from the code.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import '../dist/inline.js'
import { workerScript } from '../src/assets.js'
import { open } from '../src/index.js'
import { digest, digests, golden } from './golden.js'

test('h07 with worker and module inside the code a file shows what it shows natively', async () => {
    assert.equal(workerScript().address, 'meshreel/inline')
    const [expected] = digests().find(([, name]) => name === 'flag_small.reel')
    const reel = await open(golden('v0/flag_small.reel'), { exact: true })
    assert.ok(reel.decoder.worker)
    assert.equal(await digest(reel), expected)
    await reel.close()
})
