"""Container and blocks."""
import math
import zlib

from .basics import Bytes, Malformed, f32, need

# Container

# container.md#header
def box(values):
    empty = [math.inf] * 3 + [-math.inf] * 3
    need(list(values) == empty or all(a <= b for a, b in zip(values[:3], values[3:])), "a box out of order")
    return values


# container.md#header
def container(data):
    h = Bytes(data)
    need(h.take(8) == b"\x89REEL\r\n\x1a", "no magic number")
    version = h.get("I")
    need(version == 0, f"version {version}")
    flags, file_size, raw_bytes, frames, frame_table, chunks, chunk_table = h.get("IQQQQQQ")
    need(flags >> 16 == 0, "unknown flags")
    need(file_size == len(data), "cut off")
    bounds = box(h.get("6f"))
    frame_sum, chunk_sum = h.get("QQ")
    need(h.take(16) == bytes(16), "reserved bytes")
    checksum(data[:120], h.get("Q"))

    table = Bytes(data)
    table.at = frame_table
    need(frame_table >= 128, "a table in the header")
    times = clock(table, frames)
    boxes = [side(table.take(6), bounds) for _ in range(frames)]
    checksum(data[frame_table : table.at], frame_sum)
    table.at, offset, out = chunk_table, 128, []
    need(chunk_table >= 128, "a table in the header")
    for _ in range(chunks):
        sum_, size, raw_size, kind, reserved = table.get("QIIHH")
        need(reserved == 0, "reserved bytes")
        out.append(dict(offset=offset, size=size, raw_size=raw_size, sum=sum_, kind=kind))
        offset += size
    need(offset <= len(data), "chunks outside the file")
    checksum(data[chunk_table : table.at], chunk_sum)
    return dict(times=times, boxes=boxes, chunks=out)


# container.md#frame-table
def clock(table, frames):
    """The times of all frames."""
    kind = table.get("B")
    need(kind <= 2, "a clock")
    if kind == 0:
        times = [table.get("d") for _ in range(frames)]
    else:
        a, b = table.get("dd")
        need(kind == 1 or b != 0, "a rate of zero")
        times = [a + i * b if kind == 1 else (a + i) / b for i in range(frames)]
    need(all(map(math.isfinite, times)) and all(a < b for a, b in zip(times, times[1:])), "times that do not rise")
    return times


# container.md#frame-table
def side(parts, bounds):
    """A frame's box, from parts of the file's."""
    if parts == b"\xff\xff\xff\0\0\0":
        return [math.inf] * 3 + [-math.inf] * 3
    sides = []
    for k, part in enumerate(parts):
        low, high = bounds[k % 3], bounds[k % 3 + 3]
        need(part in (0, 255) or math.isfinite(high - low), "parts of an infinite box")
        sides.append(low if part == 0 else high if part == 255 else f32(low + (high - low) * (part / 255)))
    return box(sides)


# container.md#conventions
def checksum(data, expected):
    try:
        import xxhash
    except ImportError:
        return
    need(xxhash.xxh3_64_intdigest(data) == expected, "a checksum")


# container.md#chunk-entry
def part(data, entry):
    stored = data[entry["offset"] : entry["offset"] + entry["size"]]
    checksum(stored, entry["sum"])
    content = block(stored)
    need(len(content) == entry["raw_size"], "raw_size")
    return content


# Blocks

# container.md#block
def block(stored):
    b = Bytes(stored)
    kind, raw_size = b.get("B"), b.varint()
    data = b.data[b.at :]
    if kind == 0:
        out = data
    elif kind == 1:
        out = zlib.decompressobj(-15).decompress(data)
    elif kind == 2:
        out = lz4(data)
    elif kind == 3:
        try:
            from compression import zstd
        except ImportError:
            import zstandard
            out = zstandard.ZstdDecompressor().decompress(data, max_output_size=raw_size)
        else:
            out = zstd.decompress(data)
    else:
        raise Malformed("unknown block")
    need(len(out) == raw_size, "a block of another size")
    return out


# container.md#block
def lz4(data):
    b, out = Bytes(data), bytearray()

    def length(nibble):
        n = nibble
        if nibble == 15:
            while True:
                byte = b.get("B")
                n += byte
                if byte != 255:
                    break
        return n

    while b.at < len(data):
        token = b.get("B")
        out += b.take(length(token >> 4))
        if b.at == len(data):
            break
        distance = b.get("H")
        need(0 < distance <= len(out), "an LZ4 distance")
        for _ in range(length(token & 15) + 4):
            out.append(out[-distance])
    return bytes(out)
