// Reads the module's output: little-endian numbers one after the other (`wasm/src/writer.rs`).

const utf8 = new TextDecoder()

export class Reader {
    constructor(bytes) {
        this.bytes = bytes
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        this.at = 0
    }

    u32() {
        this.at += 4
        return this.view.getUint32(this.at - 4, true)
    }

    f32() {
        this.at += 4
        return this.view.getFloat32(this.at - 4, true)
    }

    f64() {
        this.at += 8
        return this.view.getFloat64(this.at - 8, true)
    }

    floats(count) {
        return Float32Array.from({ length: count }, () => this.f32())
    }

    words(count) {
        return Uint32Array.from({ length: count }, () => this.u32())
    }

    text() {
        const size = this.u32()
        this.at += size
        // Texts in shared memory cannot be decoded in place.
        return utf8.decode(this.bytes.slice(this.at - size, this.at))
    }

    list(read) {
        return Array.from({ length: this.u32() }, (_, i) => read(i))
    }

    transform() {
        return { rotation: this.floats(4), translation: this.floats(3), scale: this.floats(3) }
    }
}
