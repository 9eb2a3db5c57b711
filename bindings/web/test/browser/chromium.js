// Chromium without a window, and the program whose pictures are compared with.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { PNG } from 'pngjs'
import { serve } from '../server.js'

/** The repository. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url))
const program = process.env.MESHREEL_PROGRAM ?? join(root, 'target/release/meshreel')
export const BROWSER = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Flags for WebGPU without a card. */
export const WEBGPU = ['--enable-unsafe-webgpu', '--enable-features=Vulkan', '--use-vulkan=swiftshader', '--use-angle=swiftshader']

/** Width and height of pictures. */
export const SIZE = [320, 240]

/** Why there is no browser or no program; null where there are both. */
export function missing(needsProgram = false) {
    if (!existsSync(BROWSER)) return `${BROWSER} is missing (package chromium; CHROMIUM names another)`
    if (needsProgram && !existsSync(program)) return `${program} is missing (MESHREEL_PROGRAM names another)`
    return null
}

export const golden = name => join(root, 'testdata/golden', name)

/** A browser with a page, and a server of the repository. */
export async function start({ flags = [], page: path = '/bindings/web/test/browser/page.html', ...options } = {}) {
    const server = await serve({ root, ...options })
    const started = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox', ...flags] })
    const page = await started.newPage({ viewport: { width: 800, height: 600 } })
    // Machines without a card take their time.
    page.setDefaultTimeout(0)
    const errors = []
    page.on('pageerror', error => errors.push(error.message))
    await page.goto(server.url(path))
    return { server, page, errors, end: async () => (await started.close(), await server.close()) }
}

/** Bytes of a reel that the program makes of one of `testdata/inputs`, or of another file. */
export function compiled(input, ...options) {
    const output = join(mkdtempSync(join(tmpdir(), 'meshreel-')), 'made.reel')
    execFileSync(program, ['compile', resolve(root, 'testdata/inputs', input), '-o', output, '--quiet', ...options])
    return readFileSync(output)
}

/** A file of the corpus, where there is one. */
export function corpus(name) {
    const path = join(process.env.MESHREEL_CORPUS ?? join(root, '../shared/corpus'), name)
    return existsSync(path) ? path : null
}

/** The program's picture of a frame: what is covered, and the camera. */
export function pictureOf(file, frame, size) {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    const output = join(folder, 'picture.png')
    const args = ['plot', file, '--frame', `${frame}`, '--size', size.join('x'), '-o', output, '--json']
    const camera = JSON.parse(execFileSync(program, args, { encoding: 'utf8' }))
    const { width, height, data } = PNG.sync.read(readFileSync(output))
    // The ground has one colour for each row.
    const covered = Array.from({ length: width * height }, (_, i) => {
        const ground = 4 * (i - (i % width))
        const far = [0, 1, 2].reduce((sum, k) => sum + Math.abs(data[4 * i + k] - data[ground + k]), 0)
        return far > 16 ? 1 : 0
    })
    return { camera, covered }
}

/** The same pixels are covered, but for those at edges, which are soft in the program's picture. */
export function assertSame(covered, found) {
    const [width] = SIZE
    const around = [-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1]
    const isInside = i => around.every(step => (covered[i + step] ?? 0) === covered[i])
    const all = covered.reduce((sum, pixel) => sum + pixel, 0)
    const differ = covered.filter((pixel, i) => pixel !== found[i] && isInside(i)).length
    assert.ok(all > 300, `${all} pixels are covered`)
    assert.ok(differ <= 0.002 * all + 10, `${differ} of ${all} pixels differ, away from edges`)
}
