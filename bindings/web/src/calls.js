// Calls by name; frames are transferred unless they are in shared memory.

/** Returns the buffers of a result that are transferred to the receiver. */
export function transfers(value) {
    const bytes = value instanceof Uint8Array ? [value] : Array.isArray(value) ? value.map(entry => entry?.[1]) : []
    const own = bytes.filter(b => b instanceof Uint8Array && b.buffer instanceof ArrayBuffer).map(b => b.buffer)
    return value instanceof Float32Array ? [value.buffer] : own
}
