// Takes out of a module what only a panic would need: it ends the module without a word, as nobody there could read one.
// Functions of the standard library that never come back are a trap at once, and the places in the source that they would
// have named are zeros.
//   node trim.js FROM TO

import binaryen from 'binaryen'
import { readFileSync, writeFileSync } from 'node:fs'

// Mangled paths: modules of `core` and `std`, and functions of others whose names say that they end here.
const ENDS = [
    /4core9panicking/,
    /4core6option\d+(unwrap|expect)_failed/,
    /4core6result\d+unwrap_failed/,
    /4core4cell\d+panic_already/,
    /4core(5slice|3str)\w*_fail(_rt)?$/,
    /5alloc5alloc\d+handle_alloc_error/,
    /5alloc7raw_vec\d+capacity_overflow/,
    /5alloc3vec\w*13assert_failed/,
    /7___rustc(17rust_begin_unwind|10rust_panic)/,
]
/** Fewer are found where the compiler names them otherwise. */
const MIN_ENDING_FUNCTIONS = 15

function stopAtOnce(module) {
    let count = 0
    for (let i = 0; i < module.getNumFunctions(); i++) {
        const own = module.getFunctionByIndex(i)
        const { name, base, results } = binaryen.getFunctionInfo(own)
        // Crates have a disambiguator before their names.
        const path = name.replace(/Cs[0-9A-Za-z]+_(?=\d)/g, '')
        if (base || results !== binaryen.none || !ENDS.some(end => end.test(path))) continue
        binaryen.Function(own).body = module.unreachable()
        count++
    }
    if (count < MIN_ENDING_FUNCTIONS) throw new Error(`${count} functions that end the module: what are they called now?`)
    return count
}

/** A number of up to 32 bits, and where it ends. */
function number(bytes, at) {
    let [value, shift, byte] = [0, 0, 0]
    do {
        byte = bytes[at++]
        value |= (byte & 127) << shift
        shift += 7
    } while (byte > 127)
    return [value, at]
}

/** Active segments of data: their addresses, and their bytes, which are the module's. */
function segments(module) {
    const out = []
    for (let at = 8; at < module.length; ) {
        const id = module[at]
        let [size, start] = number(module, at + 1)
        at = start + size
        if (id !== 11) continue
        let count
        ;[count, start] = number(module, start)
        for (; count > 0; count--) {
            let kind, address, length
            ;[kind, start] = number(module, start)
            if (kind !== 0 || module[start] !== 0x41) throw new Error('a segment of data whose address is no constant')
            ;[address, start] = number(module, start + 1)
            ;[length, start] = number(module, start + 1)
            out.push({ address, bytes: module.subarray(start, start + length) })
            start += length
        }
    }
    return out
}

/** Zeros where places in the source stand: the address and the size of a file's name, a line, a column. */
function forgetPlaces(module) {
    const all = segments(module)
    const text = (address, size) => {
        const own = all.find(s => address >= s.address && address + size <= s.address + s.bytes.length)
        const bytes = own?.bytes.subarray(address - own.address, address - own.address + size)
        return bytes && /^[\x20-\x7e]+\.rs$/.test(String.fromCharCode(...bytes)) ? bytes : null
    }
    let count = 0
    const names = new Set()
    for (const { address, bytes } of all) {
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
        for (let at = -address & 3; at + 16 <= bytes.length; at += 4) {
            const [from, size, line, column] = [0, 4, 8, 12].map(k => view.getUint32(at + k, true))
            if (size < 4 || size > 300 || line === 0 || line > 1e5 || column === 0 || column > 1e4) continue
            const name = text(from, size)
            if (!name) continue
            names.add(name)
            bytes.fill(0, at, at + 16)
            count++
            at += 12
        }
    }
    // Where a name lies within another one it is gone with that.
    names.forEach(name => name.fill(0))
    return count
}

const [from, to] = process.argv.slice(2)
const bytes = new Uint8Array(readFileSync(from))
const places = forgetPlaces(bytes)
const module = binaryen.readBinary(bytes)
// Segments keep what they had: only the code is another.
const functions = stopAtOnce(module)
writeFileSync(to, module.emitBinary())
console.log(`${functions} functions end at once, ${places} places forgotten`)
