// Runs a program for WASI in Node, with the folders of this machine that it reads from, as cargo runs what it built.
import { readFile } from 'node:fs/promises'
import { env, exit } from 'node:process'
import { WASI } from 'node:wasi'

const [program, ...args] = process.argv.slice(2)
const wasi = new WASI({ version: 'preview1', args: [program, ...args], env, preopens: { '/': '/' } })
const module = await WebAssembly.compile(await readFile(program))
exit(wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject())))
