// Pages that the README shows, as written there, and the example for React: Chromium plays them.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { PNG } from 'pngjs'
import { BROWSER, missing } from '../browser/chromium.js'
import { golden } from '../golden.js'
import { serve } from '../server.js'
import { pack, project } from './project.js'

const skip = missing() ?? false
const package_ = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(package_, 'README.md'), 'utf8')
// Browsers ask for an icon.
const files = { '/cloth.reel': Buffer.from(golden('v0/flag_small.reel')), '/favicon.ico': Buffer.from(' ') }
let browser
before(async () => {
    if (!skip) browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
})
after(async () => browser?.close())

/** The only listing of a language. */
function listing(language) {
    const found = [...readme.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))]
    assert.equal(found.length, 1)
    return found[0][1]
}

/** Opens a page, and waits until it shows cloth, and then another moment of it. */
async function assertPlays(url) {
    const page = await browser.newPage({ viewport: { width: 320, height: 240 } })
    page.setDefaultTimeout(0)
    const errors = []
    page.on('pageerror', error => errors.push(error.message))
    page.on('console', message => message.type() === 'error' && errors.push(message.text()))
    await page.goto(url)
    const picture = async () => PNG.sync.read(await page.screenshot()).data
    const differing = (a, b) => a.filter((value, i) => i % 4 === 0 && Math.abs(value - b(i)) > 16).length
    let first = null
    for (let covered = 0; covered < 500;) {
        assert.deepEqual(errors, [])
        first = await picture()
        covered = differing(first, () => first[0])
    }
    for (let moved = 0; moved < 50;) {
        assert.deepEqual(errors, [])
        const next = await picture()
        moved = differing(next, i => first[i])
    }
    assert.equal(page.workers().length, 1)
    await page.close()
}

/** A server that ends with its test. */
async function serveIn(t, options) {
    const server = await serve(options)
    t.after(() => server.close())
    return server
}

/** A folder in which the package and three.js have these names. */
function folderWith(names) {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    for (const [name, target] of Object.entries(names)) {
        mkdirSync(join(folder, name, '..'), { recursive: true })
        symlinkSync(target, join(folder, name))
    }
    return folder
}

test('the page of the README plays without a bundler', { skip }, async t => {
    const names = {
        'node_modules/meshreel': package_,
        'node_modules/three': join(package_, 'node_modules/three'),
    }
    const page = { '/index.html': Buffer.from(listing('html')) }
    const server = await serveIn(t, { root: folderWith(names), files: { ...files, ...page } })
    await assertPlays(server.url('/index.html'))
})

test('with the addresses of the README it plays from a server of another origin', { skip }, async t => {
    const { version } = JSON.parse(readFileSync(join(package_, 'package.json')))
    const names = { [`meshreel@${version}`]: package_, 'three@0.187.0': join(package_, 'node_modules/three') }
    const cdn = await serveIn(t, { root: folderWith(names), cors: true })
    const map = listing('json').replaceAll('https://cdn.example', cdn.url(''))
    const html = listing('html').replace(/(<script type="importmap">)[^]*?(<\/script>)/, `$1${map}$2`)
    const server = await serveIn(t, { files: { ...files, '/index.html': Buffer.from(html) } })
    await assertPlays(server.url('/index.html'))
    const paths = cdn.requests.map(({ path }) => path.split('/').pop())
    assert.deepEqual(paths.filter(path => /meshreel/.test(path)).sort(), [
        'meshreel-three.cdn.js',
        'meshreel.wasm',
        'meshreel.worker.js',
    ])
})

test('the example for React plays, and the README shows its component', { skip }, async t => {
    const folder = join(package_, 'examples/react-three-fiber')
    const component = readFileSync(join(folder, 'src/Reel.jsx'), 'utf8')
    assert.ok(component.endsWith(listing('jsx')))
    const made = project(folder, [pack()])
    if (!made) return t.skip('its packages cannot be installed: the registry is not reached')
    made.run('vite', 'build')
    const server = await serveIn(t, { root: join(made.folder, 'dist'), files })
    await assertPlays(server.url('/index.html'))
})
