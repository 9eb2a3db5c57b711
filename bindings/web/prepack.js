// Runs before `npm pack` and `npm publish`: the package needs all modules, their bundles, and the licences.

import { copyFileSync, existsSync } from 'node:fs'

process.chdir(import.meta.dirname)
const missing = ['meshreel.wasm', 'meshreel.scalar.wasm', 'meshreel.gpu.wasm'].filter(
    name => !existsSync(`dist/${name}`),
)
if (missing.length > 0) {
    console.error(`the package is incomplete: dist/${missing.join(', dist/')} missing; run ./build.sh first`)
    process.exit(1)
}
await import('./bundle.js')
for (const name of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(`../../${name}`, name)
// A folder with the licences of all that is linked, for a release (tools/release/notices.sh).
if (process.env.NOTICES) copyFileSync(`${process.env.NOTICES}/THIRD_PARTY-web.txt`, 'THIRD_PARTY-web.txt')
