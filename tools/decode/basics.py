"""Bytes, terms, and the documents themselves."""
import os
import struct

# container.md#chunk-kinds
SKELETON, CLIP, LAYERS, TIERS = 7, 8, 9, 10


class Malformed(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Malformed(what)


# container.md#conventions
class Bytes:
    """A cursor over bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(self.at + n <= len(self.data), "the bytes end early")
        self.at += n
        return self.data[self.at - n : self.at]

    def get(self, layout):
        values = struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))
        return values[0] if len(values) == 1 else values

    # container.md#terms
    def varint(self):
        value = shift = 0
        while True:
            byte = self.get("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                need(value < 1 << 32 and (byte != 0 or shift == 7), "a varint with a second spelling")
                return value
            need(shift < 35, "a varint that is too long")

    # mesh.md#description
    def text(self):
        return self.take(self.varint()).decode()

    def end(self):
        need(self.at == len(self.data), "bytes left over")


# container.md#terms
def unzigzag(n):
    return n >> 1 if n % 2 == 0 else -(n >> 1) - 1


def f32(x):
    """Rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


# mesh.md#fixed-point-values
def wrap(n, width):
    n &= (1 << width) - 1
    return n - (1 << width) if n >> (width - 1) else n


def document(name):
    """The text of a document of the format."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "FORMAT")
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def text_block(title):
    """The block of this title in one of the documents."""
    for file in ("container.md", "mesh.md", "clip.md"):
        _, found, rest = document(file).partition(f"\n```{title}\n")
        if found:
            return rest.partition("```")[0]
    raise KeyError(title)


def numbers(name):
    """A table of numbers: the rows of the block of this name in one of the documents."""
    return [[int(n) for n in row.split()] for row in text_block(f"numbers {name}").splitlines()]
