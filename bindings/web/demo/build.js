// Makes the demo a folder of plain files that any server can serve below any path: the page, its code with
// three.js, the worker, the modules, and the scenes.
//   node demo/build.js FOLDER SCENES.json
// SCENES.json is a list of `{ name, file, source, sourceBytes }`; the files lie beside it, and are copied.
// Needs `dist/` (`build.sh`) and `npm ci` in the folder above.

import { build } from 'esbuild'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { besideBundle } from '../beside.js'

const DIST = ['meshreel.wasm', 'meshreel.scalar.wasm', 'meshreel.gpu.wasm', 'meshreel.worker.js']

const [folder, list] = process.argv.slice(2)
if (!list) {
    console.error('node demo/build.js FOLDER SCENES.json')
    process.exit(2)
}
const above = fileURLToPath(new URL('..', import.meta.url))
const lacking = DIST.filter(name => !existsSync(join(above, 'dist', name)))
if (lacking.length > 0) {
    console.error(`dist/${lacking.join(', dist/')}: missing: run ./build.sh first`)
    process.exit(1)
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(join(folder, 'scenes'), { recursive: true })
for (const name of DIST) copyFileSync(join(above, 'dist', name), join(folder, name))

const scenes = JSON.parse(readFileSync(list, 'utf8'))
for (const scene of scenes) {
    const file = `scenes/${basename(scene.file)}`
    copyFileSync(join(dirname(list), scene.file), join(folder, file))
    scene.file = file
}

await build({
    absWorkingDir: above,
    entryPoints: ['demo/demo.js'],
    outdir: folder,
    bundle: true,
    minify: true,
    // The renderer for WebGPU is a file of its own, which only pages that ask for it fetch.
    splitting: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    legalComments: 'linked',
    plugins: [besideBundle('./')],
})

/** Replaces what an element of the page holds, or the element itself. */
function replaced(text, pattern, by) {
    if (!pattern.test(text)) throw new Error(`demo/index.html has no ${pattern}`)
    return text.replace(pattern, () => by)
}
let page = readFileSync(join(above, 'demo/index.html'), 'utf8')
page = replaced(page, /(?<=id="scenes">).*?(?=<\/script>)/s, JSON.stringify(scenes).replaceAll('<', '\\u003c'))
page = replaced(page, /<script type="importmap">.*?<\/script>\s*/s, '')
page = replaced(page, /<!-- The scenes of the repository.*?-->\s*/s, '')
writeFileSync(join(folder, 'index.html'), page)
