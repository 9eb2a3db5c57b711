"""Positions that bones predict."""
import math
import struct

from .basics import Bytes, f32, need, wrap
from .coder import Chances, even
from .description import IDENTITY
from .fixed_point import FixedPointPart
from .nodes import Nodes
from .streams import matrix
from .symbols import cut
from .units import finish_levels, hierarchy

# Bones

CORNERS = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]


# mesh.md#bones-of-a-point
def bones_of_points(data, levels, bones, depth):
    """For each point, in the order of levels, its bones and their weights, and whether it has a residual."""
    bits, rings = Chances(data), levels["rings"]
    coded_of, is_, more, new = even(4), even(8, 4, 4), even(4), even(1)[0]
    shift_of, zero, sign, length_of, top = even(9, 8), even(16), even(2), even(16, 16), even(16, 16)
    out, coded, shifts, next_ = [], [], [], 0
    need(depth <= 15, "weights out of range")

    def number(c):
        if not bits.bit(zero[c]):
            return 0
        negative, length, size = bits.bit(sign[c >= 8]), 0, 1
        while length < 15 and bits.bit(length_of[c][length]):
            length += 1
        for k in range(length):
            size = size << 1 | (bits.plain(1) if k else bits.bit(top[c][length]))
        return -size if negative else size

    for v, ring in enumerate(rings):
        ring = ring or ([v - 1] if v else [])
        sums = {}
        for n in ring:
            for bone, weight in out[n]:
                sums[bone] = sums.get(bone, 0) + weight
        candidates = sorted(sums, key=lambda bone: (-sums[bone], bone))[:16]
        total, own = len(ring) << depth, []
        for i, bone in enumerate(candidates):
            if len(own) < 8 and bits.bit(is_[min(8 * sums[bone] // max(total, 1), 7)][min(i, 3)][min(len(own), 3)]):
                own.append(bone)
        while len(own) < 8 and bits.bit(more[min(len(own), 3)]):
            bone = next_ if bits.bit(new) else bits.plain((bones - 1).bit_length())
            need(bone < bones and bone not in own, "a bone that cannot be")
            own.append(bone)
        next_ = max([next_, *(bone + 1 for bone in own)])
        count = sum(coded[n] for n in ring)
        coded.append(1 if not own else bits.bit(coded_of[0 if not count else 3 if count == len(ring) else min(count, 2)]))
        shifts.append(8)
        weights = [1 << depth]
        if len(own) > 1:
            near, most, shift = shifts[ring[0]] if ring else 8, min(7, max(depth - 3, 0)), 0
            while shift < most and bits.bit(shift_of[near][shift]):
                shift += 1
            shifts[v], left, weights = shift, 1 << depth - shift, []
            need(left >= len(own), "weights for too many bones")
            for k in range(len(own) - 1, 0, -1):
                most, share = left - k, sums.get(own[k], 0)
                expected = max(1, min(most, ((share << depth - shift) + total // 2) // max(total, 1)))
                weight = expected + number((0 if share else 8) + shift)
                need(1 <= weight <= most, "weights that are too much")
                left -= weight
                weights.append(weight << shift)
            weights = [left << shift, *reversed(weights)]
        out.append(list(zip(own, weights)))
    bits.end()
    return out, coded


# mesh.md#bones
class Bones:
    """Positions that bones predict, with the interface of a part of fixed-point values, in the order of levels."""

    def __init__(self, data, record, levels, triangles):
        """`triangles`: of points."""
        b = Bytes(data)
        rigid, affine, words, coded = record["bones"]
        self.rigid, self.affine, self.width = rigid, affine >> 1, 32 if record["word"] == 4 else 16
        count, depth = self.rigid + self.affine, b.get("B")
        need(0 < count < 1 << 16, "a number of bones that cannot be")
        rest = FixedPointPart(b.take(b.varint()), levels, near=False)
        self.rest = rest.values(rest.first, range(len(rest.first)))
        weights, has = bones_of_points(b.take(b.varint()), levels, count, depth)
        self.pulls = [sorted((bone, weight / (1 << depth)) for bone, weight in own) for own in weights]
        boxes = [[p for p, own in zip(self.rest, weights) if dict(own).get(bone, 0) << 5 >= 1 << depth] for bone in range(count)]
        box = lambda points: [f(p[k] for p in points) for f in (min, max) for k in range(3)] if points else [0.0] * 6
        boxes = [box(points) for points in boxes]
        halves = lambda box: [(box[k + 3] - box[k]) * 0.5 for k in range(3)]
        least = max(halves(box(self.rest))) / 64.0
        self.middles = [[(box[k] + box[k + 3]) * 0.5 for k in range(3)] for box in boxes]
        self.halves = [[max(h, max(least, max(halves(box)) / 16.0, 1e-30)) for h in halves(box)] for box in boxes]
        self.nodes = self.packed = self.handles = self.residual = None
        if rigid and words:
            nodes = [dict(mesh=n, parent=-1, rest=IDENTITY, animated=True, reach=None) for n in range(rigid)]
            self.nodes = Nodes(dict(node_setup=b.take(b.varint()), nodes=nodes, meshes=[dict(bounds=box) for box in boxes]))
        elif rigid:
            setup = Bytes(b.take(b.varint()))
            self.packed = dict(scale=setup.get("f"), bounds=setup.get("6f"), end_states=[setup.get("3I") for _ in range(rigid)])
            setup.end()
        if self.affine:
            self.handles = FixedPointPart(b.take(b.varint()), self.handle_levels())
        left = b.take(len(b.data) - b.at)
        self.coded = [v for v, own in enumerate(has) if own]
        need(len(self.coded) == coded, "another number of residuals")
        # Unit and centre stand behind the flags of a static part, and where there is none by themselves.
        self.unit, *self.centre = struct.unpack("<4f", left[1:17] if coded else left)
        first_state = self.state([IDENTITY] * rigid, self.handles and self.handles.first, None)
        if coded:
            number = {levels["order"][v]: at for at, v in enumerate(self.coded)}
            own = [tuple(number[p] for p in t) for t in triangles if all(p in number for p in t)]
            of_residual = hierarchy(coded, own)
            self.coded = [self.coded[at] for at in of_residual["order"]]
            outside = [first_state["positions"][v][:3] for v in self.coded]
            self.residual = FixedPointPart(left, of_residual, outside=outside)
            first_state = self.state([IDENTITY] * rigid, self.handles and self.handles.first, self.residual.first)
        self.first_state = first_state
        self.first = first_state["positions"]

    # mesh.md#bones
    def handle_levels(self):
        """Levels of the handles of affine bones: handle k of bone b is number 4·b + k."""
        count = self.affine
        if count > 1024:
            of = lambda b: [tuple(4 * b + k for k in t) for t in ((0, 1, 2), (0, 2, 3), (0, 3, 1))]
            return hierarchy(4 * count, [t for b in range(count) for t in of(b)])
        middles, halves = self.middles[self.rigid :], self.halves[self.rigid :]

        def far(b, a):
            most = 0.0
            for corner in CORNERS:
                at = [(middles[b][k] + halves[b][k] * corner[k] - middles[a][k]) / halves[a][k] for k in range(3)]
                most = max(most, abs(at[0]) + abs(at[1]) + abs(at[2]))
            return most

        root = max(range(count), key=lambda b: (halves[b][0] + halves[b][1] + halves[b][2], -b))
        above, depths, left = {root: None}, {root: 0}, [b for b in range(count) if b != root]
        near, last = {b: (math.inf, math.inf) for b in left}, root
        while left:
            if depths[last] < 24:
                for b in left:
                    near[b] = min(near[b], (far(b, last), last))
            last = min(left, key=lambda b: (near[b][0], b))
            left.remove(last)
            above[last] = root if near[last][1] == math.inf else near[last][1]
            depths[last] = depths[above[last]] + 1
        levels, rings = [], {}
        for d in range(max(depths.values()) + 1):
            own = [b for b in range(count) if depths[b] == d]
            levels += [[4 * b for b in own], [4 * b + k for b in own for k in (1, 2, 3)]]
        for b in range(count):
            of_above = [4 * above[b] + k for k in range(4)] if above[b] is not None else []
            rings.update({4 * b + k: of_above + ([4 * b] if k else []) for k in range(4)})
        return finish_levels(levels, rings)

    # mesh.md#bones
    def matrices(self, transforms, handles):
        """Matrices of rigid bones, of affine bones, and of points without bones, in units of the grid."""
        world = [matrix(t) for t in transforms]
        if self.handles:
            cells, order_ = self.handles, self.handles.levels["order"]
            at = dict(zip(order_, cells.values(handles, range(len(order_)))))
            for b, (middle, half) in enumerate(zip(self.middles[self.rigid :], self.halves[self.rigid :])):
                rows = []
                for r in range(3):
                    row = [0.0] * 4
                    for k, corner in enumerate(CORNERS):
                        quarter = at[4 * b + k][r] * 0.25
                        row[3] += quarter
                        for c in range(3):
                            row[c] += quarter * corner[c]
                    for c in range(3):
                        row[c] /= half[c]
                        row[3] -= row[c] * middle[c]
                    rows.append(row)
                world.append(rows)
        world.append(matrix(IDENTITY))
        part_ = 1.0 / self.unit
        of_row = lambda row, centre: [f32(row[c] * part_) for c in range(3)] + [f32((row[3] - centre) * part_)]
        return [[of_row(row, centre) for row, centre in zip(rows, self.centre)] for rows in world]

    # mesh.md#bones
    def state(self, transforms, handles, residual, nodes=None):
        """All that there is of a frame."""
        all_, out = self.matrices(transforms, handles), []
        for (x, y, z), pulls in zip(self.rest, self.pulls):
            m = all_[pulls[0][0] if pulls else -1]
            if len(pulls) > 1:
                m = [[f32(v * pulls[0][1]) for v in row] for row in m]
                for bone, weight in pulls[1:]:
                    m = [[f32(a + f32(b * weight)) for a, b in zip(*rows)] for rows in zip(m, all_[bone])]
            at = [f32(f32(f32(f32(r[0] * x) + f32(r[1] * y)) + f32(r[2] * z)) + r[3]) for r in m]
            out.append([wrap(cut(round(v)), self.width) for v in at] + [0])
        for v, own in zip(self.coded, residual or []):
            out[v][:3] = [wrap(a + b, self.width) for a, b in zip(out[v], own[:3])]
        return dict(positions=out, handles=handles, residual=residual, nodes=nodes, transforms=transforms)

    # mesh.md#predicted
    def turning(self):
        """For each point the bone with the largest weight, the first of equals."""
        return [max(own, key=lambda pull: (pull[1], -pull[0]))[0] if own else None for own in self.pulls]

    # mesh.md#bones
    def unit_states(self, data, schedule, frames, find):
        """The states of the frames of a unit; `find` gives those of other frames."""
        b = Bytes(data)
        before = lambda f: self.first_state if f == 0 else find(f)
        transforms, nodes = {f: [IDENTITY] * self.rigid for f in frames}, {}
        if self.rigid and data:
            own = b.take(b.varint())
            if self.packed:
                own = Bytes(own)
                transforms = {f: self.packed_frame(own) for f in frames}
                own.end()
            elif own:
                of_node = lambda f: find(f)["nodes"]
                done = self.nodes.unit(own, schedule, frames, of_node)
                nodes = {f: done[f][0] for f in frames}
                transforms = {f: done[f][1] for f in frames}
        if self.nodes and not nodes:
            nodes = {f: list(self.nodes.rest) for f in frames}

        def fixed_point_frames(part_, name):
            if not part_:
                return {f: None for f in frames}
            own = b.take(b.varint()) if data else b""
            if frames == [0]:
                need(not own, "a frame that is known")
                return {0: part_.first}
            return part_.unit_frames(own, schedule, frames, lambda f: before(f)[name])

        handles, residual = fixed_point_frames(self.handles, "handles"), fixed_point_frames(self.residual, "residual")
        b.end()
        return {f: self.state(transforms[f], handles[f], residual[f], nodes.get(f)) for f in frames}

    # mesh.md#packed-transforms
    def packed_frame(self, b):
        left, right = b.get("2H")
        need(left <= right <= self.rigid, "edges out of order")
        bounds = b.get("6f")
        between = [b.get("3I") for _ in range(right - left)]
        done = [self.unpacked(n, self.packed["end_states"][n], self.packed["bounds"]) for n in range(left)]
        done += [self.unpacked(left + n, words, bounds) for n, words in enumerate(between)]
        return done + [IDENTITY] * (self.rigid - right)

    # mesh.md#packed-transforms
    def unpacked(self, bone, words, bounds):
        rotation, xy, zs = words
        q = [((rotation >> 10 * i & 1023) - 511.0) * (math.sqrt(0.5) / 511.0) for i in range(3)]
        square = 0.0
        for v in q:
            square += v * v
        q.insert(rotation >> 30, math.sqrt(max(1.0 - square, 0.0)))
        scale = f32(self.packed["scale"] * (zs >> 16) / 65535.0)
        q, p = [f32(v) for v in q], self.middles[bone]
        m = matrix([*q, 0.0, 0.0, 0.0, scale, scale, scale])
        arm = [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] for row in m]
        at = [low + size * v / 65535.0 for low, size, v in zip(bounds, bounds[3:], (xy & 0xFFFF, xy >> 16, zs & 0xFFFF))]
        return tuple([*q, *(f32(a - b) for a, b in zip(at, arm)), scale, scale, scale])

    # mesh.md#fixed-point-values
    def values(self, frame, places):
        """Three numbers for each vertex."""
        return FixedPointPart.values(self, frame, places)
