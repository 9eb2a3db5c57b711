"""Residuals as symbols, and rotations."""
import math
import struct

from .basics import need, numbers

# Moving nodes

FREQUENCIES = numbers("frequencies")
EXPECTED = numbers("expected")
(WIDTHS,) = numbers("widths")


# clip.md#residuals
def bucket(sigma):
    """The table for a σ, and the number of low bits that are raw."""
    sigma = max(sigma, 4)
    exponent = sigma.bit_length() - 1
    mantissa = (sigma << 16) >> exponent
    index = 3 * (exponent - 2) + (mantissa >= 82570) + (mantissa >= 104032)
    return (FREQUENCIES[index], 0) if index < 24 else (FREQUENCIES[21 + index % 3], min((index - 21) // 3, 15))


# clip.md#residuals
class Symbols:
    """Residuals of a clip: rANS with static tables, a state for each lane."""

    def __init__(self, data, lanes=1):
        self.data, size = data, 4 * lanes
        self.states, self.at = [1 << 16] * lanes, 0
        if len(data) >= size:
            self.states, self.at = list(struct.unpack(f"<{lanes}I", data[:size])), size

    def fill(self, lane):
        if self.states[lane] < 1 << 16:
            word = self.data[self.at : self.at + 2]
            self.states[lane] = self.states[lane] << 16 | (word[0] | word[1] << 8 if len(word) == 2 else 0)
            self.at += 2

    def even(self, bits, lane=0):
        if bits > 16:
            low = self.even(16, lane)
            return self.even(bits - 16, lane) << 16 | low
        value = self.states[lane] & ((1 << bits) - 1)
        self.states[lane] >>= bits
        self.fill(lane)
        return value

    def symbol(self, row, lane=0):
        slot, symbol, start = self.states[lane] & 4095, 0, 0
        while slot >= start + row[symbol]:
            start, symbol = start + row[symbol], symbol + 1
        self.states[lane] = row[symbol] * (self.states[lane] >> 12) + slot - start
        self.fill(lane)
        return symbol

    def rest(self, symbol, low, lane=0):
        n = symbol
        if symbol == 15:
            bits = 2
            while bits < 30 and self.even(1, lane):
                bits += 1
            n = (1 << bits | self.even(bits, lane)) + 11
        n = (n << low | self.states[lane] & ((1 << low) - 1)) & 0x3FFFFFFF
        negative = self.even(low + (n > 0), lane) >> low
        return -n if negative else n

    def take(self, sigma, lane=0):
        row, low = bucket(sigma)
        return self.rest(self.symbol(row, lane), low, lane)

    def end(self):
        done = all(state == 1 << 16 for state in self.states) and self.at == len(self.data)
        need(done, "residuals that do not end where their bytes do")


# clip.md#moving-nodes
def cut(v):
    return max(-(2**31), min(2**31 - 1, v))


# clip.md#moving-nodes
def sized(v):
    """A positive double as u64 from it, or what `as` makes of it."""
    return 0 if v != v else cut(math.floor(v)) if abs(v) < 1e300 else (2**31 - 1 if v > 0 else -(2**31))


# clip.md#rotations
def turned(q, y):
    """A quaternion moved on by a turn, in 2^-30."""
    one = 1 << 30
    y = [max(-one, min(one, v)) for v in y]
    square = sum(v * v for v in y) >> 32
    bx, by, bz, bw = y[0] >> 1, y[1] >> 1, y[2] >> 1, (1 << 28) - square
    ax, ay, az, aw = q
    p = [
        (aw * bx + ax * bw + ay * bz - az * by) >> 30,
        (aw * by - ax * bz + ay * bw + az * bx) >> 30,
        (aw * bz + ax * by - ay * bx + az * bw) >> 30,
        (aw * bw - ax * bx - ay * by - az * bz) >> 30,
    ]
    length = math.isqrt(sum(v * v for v in p))
    if length < 1 << 20:
        return list(q)
    inverse = (1 << 61) // length
    return [max(-one, min(one, v * inverse >> 31)) for v in p]


# clip.md#moving-nodes
def inner(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


# clip.md#moving-nodes
def mixed(around, weights):
    """The weighted sum of four quaternions, each with the sign of its neighbour in time, and its square."""
    a, b, c, d = around
    second = -1.0 if inner(b, a) < 0 else 1.0
    third = -1.0 if inner(c, a) < 0 else 1.0
    fourth = second * (-1.0 if inner(d, b) < 0 else 1.0)
    signed = [weights[0], weights[1] * second, weights[2] * third, weights[3] * fourth]
    q = [sum(w * v[k] for w, v in zip(signed, around)) * 2.0**-46 for k in range(4)]
    square = inner(q, q)
    if square < 1 / 256:
        q = [v * 2.0**-30 for v in a]
        square = max(inner(q, q), 1 / 256)
    return q, square


# clip.md#moving-nodes
def rotated(around, weights, y):
    """Codes of a rotation, predicted from those of the frames around and turned."""
    if not any(y) and all(other == around[0] for other in around):
        return list(around[0])
    (ax, ay, az, aw), square = mixed(around, weights)
    x, y, z = [max(-1.0, min(1.0, v)) for v in y]
    m = x * x + y * y + z * z
    bx, by, bz, bw = x * 2.0, y * 2.0, z * 2.0, 1.0 - m
    length = 2.0**30 / (math.sqrt(square) * (1.0 + m))
    p = [
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    ]
    # Python rounds halves to the even number.
    return [round(v * length) for v in p]


# clip.md#streamed-form
def in_30_bits(q):
    """A quaternion of floats in 2^-30."""
    away = lambda v: math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1)
    return turned([max(-(1 << 30), min(1 << 30, away(v * (1 << 30)))) for v in q], [0, 0, 0])
