// Scripts that make the package say what they lack.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

/** Runs `build.sh` with a Rust that names `libraries` as the target's; compiling fails with status 99. */
function build({ packages, libraries }, ...args) {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    copyFileSync(fileURLToPath(new URL('../build.sh', import.meta.url)), join(folder, 'build.sh'))
    mkdirSync(join(folder, 'bin'))
    mkdirSync(join(folder, 'libraries'))
    for (const [name, text] of [
        ['cargo', 'exit 99'],
        ['rustc', `echo "${join(folder, libraries)}"`],
    ]) {
        writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`)
        chmodSync(join(folder, 'bin', name), 0o755)
    }
    if (packages) {
        for (const name of ['binaryen/bin', 'esbuild'])
            mkdirSync(join(folder, 'node_modules', name), { recursive: true })
        writeFileSync(join(folder, 'node_modules/binaryen/bin/wasm-opt'), '')
    }
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    return spawnSync('bash', [join(folder, 'build.sh'), ...args], { env, encoding: 'utf8' })
}

test('build.sh names a missing target, missing packages and a wrong module before it compiles', () => {
    const whole = { packages: true, libraries: 'libraries' }
    assert.equal(build(whole).status, 99)
    for (const [lack, sentence] of [
        [{ libraries: 'none' }, /lacks the target wasm32-unknown-unknown: run rustup target add/],
        [{ packages: false }, /are missing: run npm ci in bindings\/web/],
    ]) {
        const { status, stderr } = build({ ...whole, ...lack })
        assert.equal(status, 1)
        assert.match(stderr, sentence)
        assert.equal(stderr.trim().split('\n').length, 1, stderr)
    }
    const wrong = build(whole, 'fast')
    assert.deepEqual([wrong.status, wrong.stderr], [2, 'build.sh [simd|scalar|gpu], not fast\n'])
})

test('a package without a module is not made, and the error says which is missing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    copyFileSync(fileURLToPath(new URL('../prepack.js', import.meta.url)), join(folder, 'prepack.mjs'))
    mkdirSync(join(folder, 'dist'))
    for (const name of ['meshreel.wasm', 'meshreel.gpu.wasm']) writeFileSync(join(folder, 'dist', name), '')
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'prepack.mjs')], {
        encoding: 'utf8',
    })
    assert.equal(status, 1)
    assert.match(stderr, /dist\/meshreel\.scalar\.wasm missing; run \.\/build\.sh first/)
})

test('a package without its modules is not packed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    copyFileSync(fileURLToPath(new URL('../prepack.js', import.meta.url)), join(folder, 'prepack.mjs'))
    const { status, stderr } = spawnSync('node', [join(folder, 'prepack.mjs')], { encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /dist\/meshreel\.wasm, .* missing; run \.\/build\.sh first/)
})
