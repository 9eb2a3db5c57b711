"""The range coder."""
from .basics import need, wrap


# container.md#range-coder
class Chances:
    """The range coder."""

    def __init__(self, data):
        self.data, self.at, self.range, self.code = data, 0, 2**32 - 1, 0
        for _ in range(4):
            self.pull()

    def pull(self):
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.code, self.at = (self.code << 8 | byte) & 0xFFFFFFFF, self.at + 1

    def bit(self, chance):
        fast, slow = chance
        bound = (self.range >> 15) * max(1, min(32767, (fast + slow) >> 2))
        one = self.code >= bound
        if one:
            self.code, self.range = self.code - bound, self.range - bound
        else:
            self.range = bound
        goal = 0 if one else 65535
        chance[:] = [fast + (goal - fast >> 4), slow + (goal - slow >> 7)]
        while self.range < 1 << 24:
            self.range <<= 8
            self.pull()
        return int(one)

    def plain(self, count):
        return sum(self.bit([32768, 32768]) << k for k in range(count))

    def end(self):
        need(self.at >= len(self.data), "bytes left over")

    # mesh.md#predicted
    def number(self, zero, longer):
        if not self.bit(zero):
            return 0
        negative, length = self.plain(1), 0
        while length < 15 and self.bit(longer[length]):
            length += 1
        size = 1 << length | self.plain(length)
        return wrap(-size if negative else size, 16)


# container.md#range-coder
def even(*shape):
    """Nested lists of chances that know nothing."""
    return [even(*shape[1:]) for _ in range(shape[0])] if shape else [32768, 32768]
