// Bundlers without settings: the packed package is installed, a page is built for production, and Chromium
// plays it.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { BROWSER, missing } from '../browser/chromium.js'
import { golden } from '../golden.js'
import { open } from '../../src/index.js'
import { serve } from '../server.js'
import { pack, project } from './project.js'

const skip = missing() ?? false
const PAGE = fileURLToPath(new URL('page', import.meta.url))
const INLINE = "import 'meshreel/inline'\n"
const THREE = 'three@0.187.0'
const OLDEST_THREE = 'three@0.160.0'
const VITE = 'vite@8.4.0'
const ROLLUP = ['rollup@4.68.8', '@rollup/plugin-node-resolve@16.0.3']
const ASSETS = '@web/rollup-plugin-import-meta-assets'
/** Puts the page beside the built script. */
const addPage = ({ folder }) => copyFileSync(join(folder, 'index.html'), join(folder, 'out/index.html'))

let packed, browser, expected
before(async () => {
    packed = pack()
    if (skip) return
    browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
    const reel = await open(golden('v0/flag_small.reel'), { worker: false })
    expected = [...(await reel.instance.still(20, true)).find('position', 0).values]
    await reel.close()
})
after(async () => browser?.close())

test('the package has modules, worker, bundles and licences, and no tests', () => {
    const list = execFileSync('tar', ['tzf', packed], { encoding: 'utf8' }).trim().split('\n')
    const paths = list.map(path => path.replace('package/', ''))
    const needed = `dist/meshreel.wasm dist/meshreel.scalar.wasm dist/meshreel.gpu.wasm
        dist/meshreel.worker.js dist/inline.js dist/meshreel.cdn.js dist/meshreel-three.cdn.js
        src/index.d.ts src/three.d.ts src/webgpu.d.ts LICENSE-APACHE LICENSE-MIT README.md`
    const missing = needed.split(/\s+/).filter(path => !paths.includes(path))
    assert.deepEqual(missing, [])
    const known = /^(src|dist)\/|^LICENSE|^(three|webgpu|inline)\.js$|^README\.md$|^package\.json$/
    const others = paths.filter(path => !known.test(path))
    assert.deepEqual(others, [])
})

/** Opens a page, and checks that its frames are those of the file. */
async function play(url) {
    const page = await browser.newPage()
    page.setDefaultTimeout(0)
    const failed = new Promise((_, reject) => page.on('pageerror', reject))
    await page.goto(url)
    await Promise.race([page.waitForFunction(() => window.result), failed])
    const { error, positions, covered, times } = await page.evaluate(() => window.result)
    const workers = page.workers().length
    await page.close()
    assert.equal(error, undefined)
    assert.deepEqual(positions, expected, 'frame 20 is that of the file')
    assert.ok(covered > 300, `${covered} pixels are covered`)
    assert.ok(new Set(times).size > 30, `${new Set(times).size} moments were shown`)
    assert.equal(workers, 1)
}

/** The test page with these packages; null where they cannot be installed. */
function projectWith(t, ...packages) {
    const made = project(PAGE, [packed, ...packages])
    return made ?? t.skip(`${packages.join(', ')} cannot be installed: the registry is not reached`) ?? null
}

/** Puts the reel where a server finds it. */
function addReel({ folder }, served) {
    mkdirSync(join(folder, served), { recursive: true })
    writeFileSync(join(folder, served, 'golden.reel'), golden('v0/flag_small.reel'))
}

/** `build(project)` leaves a page in `out/`. `inline`: it fetches no files of the package. */
function bundles(name, { packages, three = THREE, inline = false }, build) {
    test(`${name}: the built page plays`, { skip }, async t => {
        const made = projectWith(t, three, ...packages)
        if (!made) return
        if (inline) made.write('main.js', INLINE + readFileSync(join(PAGE, 'main.js'), 'utf8'))
        build(made)
        addReel(made, 'out')
        const server = await serve({ root: join(made.folder, 'out') })
        t.after(() => server.close())
        await play(server.url('/index.html'))
        const modules = server.requests.filter(({ path }) => path.endsWith('.wasm'))
        assert.equal(modules.length, inline ? 0 : 1)
    })
}

test('Vite without a build: the page plays', { skip }, async t => {
    const made = projectWith(t, THREE, VITE)
    if (!made) return
    addReel(made, 'public')
    const { createServer } = await import(join(made.folder, 'node_modules/vite/dist/node/index.js'))
    const server = await createServer({ root: made.folder, logLevel: 'error' })
    await server.listen()
    t.after(() => server.close())
    await play(server.resolvedUrls.local[0])
})

bundles('Vite', { packages: [VITE] }, ({ run }) => run('vite', 'build', '--outDir', 'out'))
bundles('webpack', { packages: ['webpack@5.113.0', 'webpack-cli@7.3.1'] }, made => {
    made.run('webpack', '--mode', 'production', '--entry', './main.js', '-o', 'out')
    addPage(made)
})
bundles('Parcel', { packages: ['parcel@2.16.4'] }, ({ run }) => {
    run('parcel', 'build', 'index.html', '--dist-dir', 'out')
})
bundles('Rollup with its plugin for assets', { packages: [...ROLLUP, `${ASSETS}@2.3.3`] }, made => {
    made.run('rollup', 'main.js', '-p', 'node-resolve', '-p', ASSETS, '-d', 'out')
    addPage(made)
})
bundles('Rollup with the oldest three.js', { packages: ROLLUP, three: OLDEST_THREE, inline: true }, made => {
    made.run('rollup', 'main.js', '-p', 'node-resolve', '-d', 'out')
    addPage(made)
})
for (const format of ['iife', 'esm']) {
    bundles(`esbuild, format ${format}`, { packages: ['esbuild@0.28.2'], inline: true }, made => {
        made.run('esbuild', 'main.js', '--bundle', '--minify', `--format=${format}`, '--outfile=out/main.js')
        addPage(made)
    })
}
