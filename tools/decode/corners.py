"""Triangles of points and vertices, and compact triangles."""
from .basics import need
from .coder import Chances, even

COMPACT = b"\xfe\xff\xff\xff\x0f"
CACHE = 16


# mesh.md#triangles-of-points
class Corners:
    """Triangles in the order in which they are coded."""

    def __init__(self, bits, materials):
        self.bits, self.materials = bits, materials
        self.edge, self.left, self.new, self.right = even(4, 2, 2), even(10, 2), even(10, 2), even(10)
        self.near, self.back, self.length, self.seed_new, self.material = even(), even(), even(6), even(), even()
        self.other, self.split_new, self.this, self.loose = even(2, 2), even(), even(), even()

    # mesh.md#triangles-of-points
    def connectivity(self, points, triangles):
        bits, out, materials, count = self.bits, [], [], [0] * points
        next_, before, edges, queue, at, known = {}, {}, set(), [], {}, 0
        to = lambda h: out[h - h % 3 + (h + 1) % 3]
        open_ = lambda h: h in next_ and h not in edges

        def join(h, then):
            next_[h], before[then] = then, h

        def zip_(h):
            while open_(h):
                then = next_[h]
                if then == h or then in edges or out[h] != to(then):
                    return
                a, z = before[h], next_[then]
                del next_[h], next_[then]
                if a == then:
                    return
                join(a, z)
                h = a

        def far():
            need(known > 0, "a point before the first")
            back = bits.plain((known - 1).bit_length())
            need(back < known, "a point before the first")
            return known - 1 - back

        def take():
            nonlocal known
            need(known < points, "more points than there are")
            known += 1
            return known - 1

        def material(near):
            if self.materials > 1 and bits.bit(self.material):
                near = bits.plain((self.materials - 1).bit_length())
                need(near < self.materials, "a material that is not there")
            materials.append(near)

        last, oldest = None, 0
        while len(materials) < triangles:
            gate, last = (last if last is not None and open_(last) else None), None
            while gate is None and oldest < len(queue):
                gate = queue[oldest] if open_(queue[oldest]) else None
                oldest += 1
            t = 3 * len(materials)
            if gate is None:
                material(materials[-1] if materials else 0)
                out += [0, 0, 0]
                for k in range(3):
                    out[t + k] = take() if bits.bit(self.seed_new) else far()
                for k in range(3):
                    join(t + k, t + (k + 1) % 3)
            else:
                a, b, p, n = out[gate], to(gate), before[gate], next_[gate]
                l, r, sides = out[p], to(n), [int(p in edges), int(n in edges)]
                if bits.bit(self.edge[min(count[a], 3)][sides[0]][sides[1]]):
                    edges.add(gate)
                    continue
                if bits.bit(self.left[min(count[a], 9)][sides[0]]):
                    v, h = l, p
                elif bits.bit(self.new[min(count[b], 9)][sides[1]]):
                    v, h = take(), None
                elif bits.bit(self.right[min(count[b], 9)]):
                    v, h = r, next_[n]
                elif bits.bit(self.near):
                    back, length = bits.bit(self.back), 0
                    while length < 5 and bits.bit(self.length[length]):
                        length += 1
                    steps, h = (1 << length | bits.plain(length)) - 1, p if back else n
                    for _ in range(steps + 1 if back else steps + 2):
                        h = before[h] if back else next_[h]
                    v = out[h]
                else:
                    v = far()
                    h = at.get(v)
                out += [b, a, v]
                material(materials[gate // 3])
                meets = h is not None and v not in (a, b) and h in next_ and out[h] == v
                u = before[h] if meets else None
                del next_[gate]
                p, n = (t + 2, t + 1) if p == gate else (p, n)
                join(p, t + 1)
                join(t + 1, t + 2)
                join(t + 2, n)
                if meets:
                    join(t + 1, h)
                    join(u, t + 2)
                for e in (t + 1, t + 2):
                    if e in next_:
                        zip_(before[e])
                    if e in next_:
                        zip_(e)
            for h in range(t, t + 3):
                count[out[h]] += 1
                if open_(h):
                    at[out[h]] = h
                    queue.append(h)
            last = t + 1
        return out, materials

    # mesh.md#triangles-of-points
    def vertices(self, corners, points, vertices):
        """The vertices of corners, and the point of each vertex."""
        bits, lists, out, point, was = self.bits, [[] for _ in range(points)], [], [], 0
        for c, p in enumerate(corners):
            was, own = was if c % 3 else 0, lists[p]
            other = bool(own) and bits.bit(self.other[was][len(own) > 1])
            if not own or other and (len(own) < 2 or bits.bit(self.split_new)):
                v = len(point)
                point.append(p)
                own.insert(0, v)
            elif other:
                v = next((w for w in own[1:17] if bits.bit(self.this)), None)
                if v is None:
                    v = bits.plain((len(point) - 1).bit_length())
                    need(v < len(point) and point[v] == p, "a vertex of another point")
                else:
                    own.remove(v)
                    own.insert(0, v)
            else:
                v = own[0]
            was = int(other)
            out.append(v)
        used = max(corners, default=-1) + 1
        while len(point) < vertices:
            own = bits.bit(self.loose)
            p = used if own else bits.plain(points.bit_length())
            used += own
            need(p < used <= points, "a point that is not there")
            point.append(p)
        need(used == points and len(point) == vertices, "points without vertices")
        return out, point


# mesh.md#compact-triangles
def cache_order(triangles, start, end, state):
    """The triangles from `start` to `end` in the order of a vertex cache."""
    around, time, done, out, stack, left = state["around"], state["time"], state["done"], [], [], {}
    for t in range(start, end):
        for v in triangles[t]:
            left[v] = left.get(v, 0) + 1
    following = start
    while True:
        v = None
        while stack and v is None:
            v = stack.pop()
            v = v if left[v] else None
        if v is None:
            following = next((t for t in range(following, end) if t not in done), end)
            if following == end:
                return out
            v = triangles[following][0]
        while v is not None:
            candidates = []
            for t in around[v]:
                if t in done or not start <= t < end:
                    continue
                done.add(t)
                out.append(t)
                for corner in triangles[t]:
                    candidates.append(corner)
                    left[corner] -= 1
                    if state["clock"] - time.get(corner, 0) > CACHE:
                        time[corner] = state["clock"]
                        state["clock"] += 1
            stack += candidates
            best = None
            for corner in candidates:
                age = state["clock"] - time[corner]
                rank = age if age + 2 * left[corner] <= CACHE else 0
                if left[corner] and (best is None or rank > best[0]):
                    best = rank, corner
            v = best[1] if best else None


# mesh.md#compact-triangles
def compact(b, count, vertices, ranges):
    """The indices of compact triangles, and the point of each vertex."""
    b.take(5)
    points = b.varint()
    need(points <= vertices, "more points than vertices")
    coder = Corners(Chances(b.take(len(b.data) - b.at)), len(ranges))
    corners, materials = coder.connectivity(points, count // 3)
    point = list(range(vertices))
    if points < vertices:
        corners, point = coder.vertices(corners, points, vertices)
    coder.bits.end()
    triangles = [corners[3 * t : 3 * t + 3] for t in sorted(range(count // 3), key=lambda t: materials[t])]
    state = dict(around=[[] for _ in range(vertices)], time={}, done=set(), clock=CACHE + 1)
    for t, triangle in enumerate(triangles):
        for v in triangle:
            state["around"][v].append(t)
    order, first = [], 0
    for m, (start, size) in enumerate(ranges):
        need((start, size) == (3 * first, 3 * materials.count(m)), "the numbers of a material")
        order += cache_order(triangles, first, first + size // 3, state)
        first += size // 3
    number, names = {}, {}
    index = [number.setdefault(v, len(number)) for t in order for v in triangles[t]]
    for v in range(vertices):
        number.setdefault(v, len(number))
    return index, [names.setdefault(point[v], len(names)) for v in number]
