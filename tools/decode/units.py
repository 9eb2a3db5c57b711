"""Units of frames, and hierarchies of points."""
import math

from .streams import grid_number

# Layers

# mesh.md#units
class Schedule:
    """Which frames are stored together in a layered file, and which they refer to."""

    def __init__(self, frames, restart):
        self.frames, self.restart = frames, restart
        self.keys = list(range(0, frames, 16)) + ([frames - 1] if frames and (frames - 1) % 16 else [])
        self.depths = {key: 0 for key in self.keys}
        self.middle_of = {}
        for a, b in zip(self.keys, self.keys[1:]):
            spans, depth = [(a, b)], 1
            while spans:
                halves = []
                for a, b in spans:
                    m = a + (b - a) // 2
                    if a < m < b:
                        self.depths[m], self.middle_of[m] = depth, (a, b)
                        halves += [(a, m), (m, b)]
                spans, depth = halves, depth + 1

    # mesh.md#units
    def units(self):
        """(kind, number, frames) in the order of the file."""
        out = [("key", 0, [0])] if self.keys else []
        if len(self.keys) > 1:
            out.append(("key", 1, [self.keys[1]]))
        for g, (a, b) in enumerate(zip(self.keys, self.keys[1:])):
            if g + 2 < len(self.keys):
                out.append(("key", g + 2, [self.keys[g + 2]]))
            inside = sorted(range(a + 1, b), key=lambda f: (self.depths[f], f))
            deepest = max((self.depths[f] for f in inside), default=0)
            out.append(("lower layers", g, [f for f in inside if self.depths[f] < deepest]))
            out.append(("top layer", g, [f for f in inside if self.depths[f] == deepest]))
        return [unit for unit in out if unit[2]]

    # mesh.md#units
    def references(self, f):
        """The frames that a frame is predicted from."""
        out = []
        if self.depths[f] == 0:
            key = self.keys.index(f)
            due = min(key, (self.frames - 1) // 16)
            first = due - due % self.restart
            if key > 0:
                out = [self.keys[k] for k in (key - 1, key - 2) if k >= first] + [0]
        else:
            g, depth, (a, b) = f // 16, self.depths[f], self.middle_of[f]
            start, end = self.keys[g], self.keys[g + 1]
            before = [r for r in range(a - 1, start - 1, -1) if self.depths[r] < depth]
            after = [r for r in range(b + 1, end + 1) if self.depths[r] < depth]
            before = before[:1] or self.keys[max(g - 1, 0) : g]
            after = after[:1] or self.keys[g + 2 : g + 3]
            out = [a, b] + before + after
        return list(dict.fromkeys(out))

    # mesh.md#units
    def needs(self, frames):
        """The frames outside a unit that its frames refer to."""
        return list(dict.fromkeys(r for f in frames for r in self.references(f) if r not in frames))

    # mesh.md#chains
    def goes_on(self, key):
        due = min(key, (self.frames - 1) // 16)
        return key > due - due % self.restart

    # mesh.md#chains
    def links(self, group):
        """The frames that the links of a group are of."""
        return list(range(self.keys[group] + 1, self.keys[group + 1] + self.goes_on(group + 1)))

    # mesh.md#chains
    def home(self, group):
        """The first frame of the unit that has the links of a group."""
        if self.goes_on(group + 1):
            return self.keys[group + 1]
        inside = sorted(range(self.keys[group] + 1, self.keys[group + 1]), key=lambda f: (self.depths[f], f))
        return inside[0] if inside else None

    # mesh.md#chains
    def chain_needs(self, kind, number, frames):
        """The frames of other units that chains need."""
        if kind == "key":
            return [self.keys[number - 1]] if self.goes_on(number) else []
        home = self.home(number)
        return [self.keys[number]] + ([] if home in frames else [home])

    # mesh.md#predicted
    def near(self, kind, number, frames):
        """Those of them that predicted normals may refer to."""
        needs = self.needs(frames)
        if kind == "key":
            return [f for f in needs[:1] if f > 0]
        start, end = self.keys[number], self.keys[number + 1]
        return [f for f in needs if start <= f <= end]


# Hierarchies

# mesh.md#hierarchy
def hierarchy(points, triangles):
    """Points by level, and the ring of each point, all in the new order."""
    tris = [t for t in triangles if max(t) < points and len(set(t)) == 3]
    parent = list(range(points))

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    for t in tris:
        low = min(root(v) for v in t)
        for v in t:
            parent[root(v)] = low
    component = [root(v) for v in range(points)]
    used = {v for t in tris for v in t}
    lone = [v for v in range(points) if v not in used]
    alive, left, rings, rounds = sorted(used), [], {}, []
    while tris and len(rounds) < 64:
        corners = {v: [] for v in alive}
        for a, b, c in tris:
            corners[a].append((b, c))
            corners[b].append((c, a))
            corners[c].append((a, b))
        around = {v: list(dict.fromkeys(u for pair in corners[v] for u in pair)) for v in alive}
        valence = {v: len(around[v]) for v in alive}
        border = {v: valence[v] > len(corners[v]) for v in alive}
        locked, target, removed = set(), {}, []
        for v in sorted((v for v in alive if valence[v] <= 8), key=lambda v: (valence[v], v)):
            if v in locked:
                continue
            removed.append(v)
            locked.update(around[v])
        removed_set = set(removed)
        if len(removed) * 50 < len(alive):
            break
        changing = dict(valence)
        for v in removed:
            t = min(around[v], key=lambda u: (border[v] and not border[u], changing[u]))
            target[v] = t
            shared = 0
            for a, b in corners[v]:
                if t in (a, b):
                    other = a ^ b ^ t
                    changing[other] = max(changing[other] - 1, 0)
                    shared += 1
            changing[t] = max(changing[t] + len(around[v]) - 2 - shared, 0)
        for v in removed:
            ring = list(around[v])
            if len(ring) < 4:
                for u in around[v]:
                    for w in (w for pair in corners[u][:32] for w in pair):
                        if len(ring) < 8 and w not in removed_set and w not in ring:
                            ring.append(w)
            rings[v] = ring
        rounds.append(sorted(removed))
        moved = [tuple(target.get(v, v) for v in t) for t in tris]
        tris = [t for t in moved if len(set(t)) == 3]
        alive = [v for v in alive if v not in removed_set]
        still = {v for t in tris for v in t}
        left += [v for v in alive if v not in still]
        alive = [v for v in alive if v in still]
    left = sorted(left + alive)
    roots, star, root_of = [], [], {}
    for v in left:
        if component[v] in root_of:
            star.append(v)
            rings[v] = [root_of[component[v]]]
        else:
            root_of[component[v]] = v
            roots.append(v)
    levels = [sorted(roots + lone[:1]), star]
    step = 1
    while step < len(lone):
        step *= 2
    while step > 1:
        step //= 2
        levels.append([lone[j] for j in range(step, len(lone), 2 * step)])
        for j in range(step, len(lone), 2 * step):
            rings[lone[j]] = [lone[k] for k in (j - step, j + step, j - 3 * step, j + 3 * step) if 0 <= k < len(lone)]
    levels += reversed(rounds)
    return finish_levels(levels, rings)


# mesh.md#hierarchy
def finish_levels(levels, rings):
    """The hierarchy of points by level, each with the points of its ring."""
    order_ = [v for level in levels for v in level]
    place = {v: new for new, v in enumerate(order_)}
    starts = [0]
    for level in levels:
        starts.append(starts[-1] + len(level))
    return dict(order=order_, starts=starts, rings=[[place[u] for u in rings.get(v, [])] for v in order_])


# mesh.md#hierarchy-of-a-grid
def quincunx(shape):
    """The same of a regular grid."""
    width, height, closed = shape
    number = lambda x, y: grid_number(width, height, x, y)

    def axis(n, closed, step):
        known = list(range(0, n, step))
        if not closed and known[-1] != n - 1:
            known.append(n - 1)
        after = {a: b for a, b in zip(known, known[1:])}
        if closed:
            after[known[-1]] = n
        new = {a: a + step // 2 for a, b in after.items() if a % step == 0 and a + step // 2 < b}
        around = {a: [] for a in known}  # of each known one, those next to it and what is new between
        for a, b in after.items():
            around[a].append((b % n, new.get(a)))
        before = {b % n: a for a, b in after.items()}
        for b, a in before.items():
            around[b].insert(0, (a, new.get(a)))
        return {m: (a, after[a] % n) for a, m in new.items()}, around

    step = 1
    while step < max(width - (not closed), height - 1):
        step *= 2
    corners = [number(x, y) for y in axis(height, False, step)[1] for x in axis(width, closed, step)[1]]
    levels, rings = [[number(0, 0)], sorted(v for v in corners if v != number(0, 0))], {}
    for v in levels[1]:
        rings[v] = levels[0]
    while step > 1:
        new_x, known_x = axis(width, closed, step)
        new_y, known_y = axis(height, False, step)
        middles, edges = {}, {}
        for y, (c, d) in new_y.items():
            for x, (a, b) in new_x.items():
                middles[number(x, y)] = [number(a, c), number(b, c), number(a, d), number(b, d)]
        for y, around in known_y.items():
            for x, (a, b) in new_x.items():
                ring = edges[number(x, y)] = [number(a, y), number(b, y)]
                for c, new in around:
                    ring += [number(a, c), number(b, c)] if new is None else [number(x, new)]
        for y, (c, d) in new_y.items():
            for x, around in known_x.items():
                ring = edges[number(x, y)] = [number(x, c), number(x, d)]
                for a, new in around:
                    ring += [number(a, c), number(a, d)] if new is None else [number(new, y)]
        for level in (middles, edges):
            if level:
                levels.append(sorted(level))
                rings.update({v: list(dict.fromkeys(ring)) for v, ring in level.items()})
        step //= 2
    return finish_levels(levels, rings)


FITS = [(2, 2e-3), (3, 2e-3), (2, 5e-4), (2, 1e-2), (3, 5e-4), (2, 1e-4), (3, 1e-2), (2, 2e-5)]


# mesh.md#weights-of-neighbours
def spatial_weights(own, ring, frame, fit):
    """Up to four points of the ring, and their weights in 1/4096."""
    ring = list(ring)
    w = fitted(own, ring, frame, fit)
    if len(ring) > 4:
        for slot in range(4):
            best = slot
            for k in range(slot + 1, len(ring)):
                if abs(w[k]) > abs(w[best]):
                    best = k
            w[slot], w[best] = w[best], w[slot]
            ring[slot], ring[best] = ring[best], ring[slot]
        ring = ring[:4]
        w = fitted(own, ring, frame, fit)
    out = [math.floor(x * 4096.0 + 0.5) for x in w]
    if out:
        largest = max(range(len(out)), key=lambda k: (abs(out[k]), -k))
        out[largest] += 4096 - sum(out)
    return ring, out


# mesh.md#weights-of-neighbours
def fitted(own, ring, frame, fit):
    falloff, ridge = fit
    if not ring:
        return []
    offsets = [[float(a) - float(b) for a, b in zip(frame[r], own)] for r in ring]
    distance = [math.sqrt(x * x + y * y + z * z) for x, y, z in offsets]
    longest = max(distance)
    scale = 1.0 / longest if longest > 0 else 1.0
    plain, basis = [], []
    m = [[0.0] * 4 for _ in range(4)]
    for (x, y, z), d in zip(offsets, distance):
        near = (longest + 1.0) / (d + longest * 0.01 + 1.0)
        w = near * near
        if falloff == 3:
            w *= near
        b = [1.0, x * scale, y * scale, z * scale]
        for i in range(4):
            for j in range(i, 4):
                m[i][j] += w * b[i] * b[j]
        plain.append(w)
        basis.append(b)
    total = m[0][0]
    for i in range(1, 4):
        m[i][i] += ridge * total
    y = [1.0, 0.0, 0.0, 0.0]
    for i in range(4):
        for j in range(i + 1, 4):
            f = m[i][j] / m[i][i]
            for k in range(j, 4):
                m[j][k] -= f * m[i][k]
            y[j] -= f * y[i]
    for i in range(3, -1, -1):
        for j in range(i + 1, 4):
            y[i] -= m[i][j] * y[j]
        y[i] /= m[i][i]
    out, total_out = [], 0.0
    for w, b in zip(plain, basis):
        out.append(w * (y[0] + y[1] * b[1] + y[2] * b[2] + y[3] * b[3]))
        total_out += out[-1]
    wild = total_out < 1e-6
    if not wild:
        out = [x / total_out for x in out]
        wild = any(abs(x) >= 2.5 for x in out)
    return [w / total for w in plain] if wild else out
