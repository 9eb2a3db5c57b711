// Bundles the files of dist/ that work as they are: the worker; `meshreel.cdn.js` and `meshreel-three.cdn.js`,
// which pages without a bundler load from any server; and `inline.js`, which brings worker and module inside
// the code.
//   node bundle.js

import { build } from 'esbuild'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { besideBundle } from './beside.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const common = { absWorkingDir: here, bundle: true, minify: true, logLevel: 'warning', target: 'es2022' }
const module = `${here}dist/meshreel.wasm`
if (!existsSync(module)) {
    console.error('dist/meshreel.wasm is missing: run ./build.sh simd first')
    process.exit(1)
}

await build({ ...common, entryPoints: ['src/worker.js'], outfile: 'dist/meshreel.worker.js', format: 'iife' })
const pages = {
    'meshreel.cdn': "export * from './src/index.js'; export * from './src/webgpu.js'",
    'meshreel-three.cdn': "export * from './src/index.js'; export * from './src/three.js'",
}
for (const [name, contents] of Object.entries(pages)) {
    const stdin = { contents, resolveDir: here }
    const plugins = [besideBundle('./')]
    await build({ ...common, stdin, outfile: `dist/${name}.js`, format: 'esm', external: ['three'], plugins })
}
const inlined = {
    worker: readFileSync(`${here}dist/meshreel.worker.js`, 'utf8'),
    module: gzipSync(readFileSync(module), { level: 9 }).toString('base64'),
}
writeFileSync(
    `${here}dist/inline.js`,
    `import { setInlined } from '../src/assets.js'\nsetInlined(${JSON.stringify(inlined)})\n`,
)
