// Runs the `main` of a program that asks for nothing: no import, so no clock, no files, no threads. What fails traps.
import { readFile } from 'node:fs/promises'
import { exit } from 'node:process'

const module = await WebAssembly.compile(await readFile(process.argv[2]))
const asked = WebAssembly.Module.imports(module)
if (asked.length > 0) {
    console.error('it imports', asked)
    exit(1)
}
const { exports } = await WebAssembly.instantiate(module, {})
exit(exports.main(0, 0))
