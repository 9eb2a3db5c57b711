// Calls by name, with frames in memory that is given away where it is not shared.

/** What of a result is given away. */
export function transfers(value) {
    const bytes = value instanceof Uint8Array ? [value] : Array.isArray(value) ? value.map(entry => entry?.[1]) : []
    const own = bytes.filter(b => b instanceof Uint8Array && b.buffer instanceof ArrayBuffer).map(b => b.buffer)
    return value instanceof Float32Array ? [value.buffer] : own
}
