// Scratch projects that install the packed package, as users install it.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const npm = (folder, ...args) =>
    execFileSync('npm', [...args, '--no-audit', '--no-fund'], {
        cwd: folder,
        encoding: 'utf8',
        stdio: 'pipe',
    })

/** A folder that goes when the tests end: packages of bundlers are large. */
function scratch() {
    const folder = mkdtempSync(join(tmpdir(), 'meshreel-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
}

/** The package as `npm pack` makes it. */
export function pack() {
    const folder = scratch()
    const here = fileURLToPath(new URL('../..', import.meta.url))
    return join(folder, npm(here, 'pack', '--silent', '--pack-destination', folder).trim())
}

/** A copy of `files` with these packages; null where the registry cannot be reached. */
export function project(files, packages) {
    const folder = scratch()
    cpSync(files, folder, { recursive: true, filter: path => !/node_modules|package-lock/.test(path) })
    try {
        npm(folder, 'install', ...packages)
    } catch (error) {
        if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT/.test(error.stderr)) return null
        throw new Error(`npm install ${packages.join(' ')}\n${error.stderr}`)
    }
    return {
        folder,
        write: (name, text) => writeFileSync(join(folder, name), text),
        /** Runs a program of these packages. */
        run: (...command) => {
            try {
                return execFileSync('npx', ['--no-install', ...command], {
                    cwd: folder,
                    encoding: 'utf8',
                    stdio: 'pipe',
                })
            } catch (error) {
                throw new Error(`${command.join(' ')}\n${error.stdout}\n${error.stderr}`)
            }
        },
    }
}
