"""Transforms of nodes that move."""
import math
import struct

from .basics import Bytes, f32, need, unzigzag
from .coder import Chances
from .streams import matrix
from .symbols import EXPECTED, WIDTHS, Symbols, bucket, cut, in_30_bits, inner, rotated, sized


# clip.md#moving-nodes
class Nodes:
    """Transforms of all moving nodes, as a clip."""

    def __init__(self, d):
        chances = Chances(d["node_setup"])
        plain = lambda n: sum(chances.bit([1 << 15] * 2) << k for k in range(n))
        base = struct.unpack("<f", struct.pack("<I", plain(32)))[0]
        need(1e-30 < base < 1e30, "steps of nodes out of range")
        self.packed = plain(1)
        nodes = d["nodes"]
        boxes = [[math.inf] * 3 + [-math.inf] * 3 for _ in nodes]
        widen = lambda into, low, high: [min(a, b) for a, b in zip(into, low)] + [max(a, b) for a, b in zip(into[3:], high)]
        for n, node_ in reversed(list(enumerate(nodes))):
            if node_["mesh"] >= 0:
                bounds = d["meshes"][node_["mesh"]]["bounds"]
                boxes[n] = widen(boxes[n], bounds[:3], bounds[3:])
            elif node_["reach"] is not None:
                reach = node_["reach"]
                boxes[n] = widen(boxes[n], [-reach] * 3, [reach] * 3)
            own, above = boxes[n], node_["parent"]
            if above < 0 or not all(own[k] <= own[k + 3] for k in range(3)):
                continue
            m = matrix(node_["rest"])
            for corner in range(8):
                p = [own[k + 3 * (corner >> k & 1)] for k in range(3)]
                at = [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3] for row in m]
                boxes[above] = widen(boxes[above], at, at)
        moves, pivots, same, codes = [[1 << 15] * 2 for _ in range(24)], [[1 << 15] * 2 for _ in range(2)], [1 << 15] * 2, {}
        last = [1, 1, 0], 1, 128
        self.tracks = []
        for n, node_ in enumerate(nodes):
            if not node_["animated"]:
                continue
            moving, seen = [], 0
            for i in range(3):
                moving.append(chances.bit(moves[8 * i + 2 * seen + last[0][i]]))
                seen = seen << 1 | moving[-1]
            pivot, code = chances.bit(pivots[last[1]]), last[2]
            if chances.bit(same):
                code = 1
                while code < 256:
                    code = code << 1 | chances.bit(codes.setdefault(code, [1 << 15] * 2))
                code -= 256
            last = moving, pivot, code
            self.tracks.append(self.track(node_["rest"], boxes[n], base, moving, pivot, code))
        self.rest = [(self.words_of(t, t["rest"]), [0, 0]) for t in self.tracks]
        kinds = [[n for n, t in enumerate(self.tracks) if t["moves"] == [k & 1, k >> 1 & 1, k >> 2]] for k in range(8)]
        self.eights = [kind[i : i + 8] for kind in kinds for i in range(0, len(kind), 8)]

    # clip.md#moving-nodes
    def track(self, rest, space, base, moves, pivot, code):
        quarter = [1.0, 1.189207115002721, math.sqrt(2), 1.681792830507429][code & 3]
        step = base * 2.0 ** ((code >> 2) - 32) * quarter
        p = [(space[k] + space[k + 3]) * 0.5 for k in range(3)]
        if not pivot or not all(abs(v) < 1e30 for v in p):
            p = [0.0] * 3
        scales = [abs(v) or 1.0 for v in rest[7:]]
        reach = [max(abs(space[k] - p[k]), abs(space[k + 3] - p[k])) * scales[k] for k in range(3)]
        usable = lambda v: 1e-30 < v < 1e30
        lever = [math.sqrt(reach[a] * reach[a] + reach[b] * reach[b]) for a, b in ((1, 2), (0, 2), (0, 1))]
        rotation = [min(max(step / v, 5e-7), 0.5) if usable(v) else 0.5 for v in lever]
        scale = [min(max(step / h * s if usable(h) else s, 1e-9), 1e9) for h, s in zip(reach, scales)]
        t = dict(rest=rest, moves=moves, pivot=p, step=step, rotation=rotation, scale=scale)
        t["turn"] = [v * 2.0**-7 for v in rotation]
        t["origin"] = [a + b for a, b in zip(rest[4:7], self.matrix_arm(rest, p))]
        return t

    # clip.md#moving-nodes
    @staticmethod
    def matrix_arm(transform, p):
        return [row[0] * p[0] + row[1] * p[1] + row[2] * p[2] for row in matrix(transform)]

    # clip.md#moving-nodes
    @staticmethod
    def arm(transform, near, p):
        q, v = transform[:4], [s * k for s, k in zip(transform[7:], p)]
        cross_ = lambda a, b: [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        twice = (4.0 - inner(q, q)) - inner(q, q) if near else 2.0 / max(inner(q, q), 1e-30)
        u = [c + q[3] * k for c, k in zip(cross_(q, v), v)]
        return [k + twice * c for k, c in zip(v, cross_(q, u))]

    # clip.md#moving-nodes
    def words_of(self, t, transform):
        """The codes of the parts that move: translation, rotation, scale."""
        unit, arm = t["step"] / 32, self.matrix_arm(transform, t["pivot"])
        place = [sized((transform[4 + k] + arm[k] - t["origin"][k]) / unit + 0.5) for k in range(3)]
        scale = [sized(transform[7 + k] * 32.0 / t["scale"][k] + 0.5) for k in range(3)]
        all_ = [place, in_30_bits(transform[:4]), scale]
        return [words if moves else None for words, moves in zip(all_, t["moves"])]

    # clip.md#moving-nodes
    def transform(self, t, words):
        out = list(t["rest"])
        if words[1]:
            out[:4] = [f32(v * (1.0 / 1073741824.0)) for v in words[1]]
        if words[2]:
            out[7:] = [f32(w * (s / 32)) for w, s in zip(words[2], t["scale"])]
        if words[0]:
            arm = self.arm(out, t["moves"][1], t["pivot"]) if any(t["pivot"]) else [0.0] * 3
            unit = t["step"] / 32
            out[4:7] = [f32((o + w * unit) - a) for o, w, a in zip(t["origin"], words[0], arm)]
        return tuple(out)

    # clip.md#moving-nodes
    def unit(self, data, schedule, frames, find):
        """Per frame its states and transforms; `find` gives the states of frames decoded before."""
        source = Packed(data, len(self.eights) * len(frames)) if self.packed else States(data)
        empty = lambda: ([None] * len(self.tracks), [None] * len(self.tracks))
        done = {f: empty() for f in frames}
        state_of = lambda f: done[f][0] if f in done else find(f)
        around = [self.around(schedule, frames, i) for i in range(len(frames))]
        for eight in self.eights:
            for f, (references, level, weights, beside) in zip(frames, around):
                states = [state_of(r) for r in references] or [self.rest]
                states += [states[0]] * (4 - len(states))
                beside = beside is not None and state_of(beside)
                contexts = [(level, states[0][n][1], states[min(1, len(references) - 1) if references else 0][n][1],
                             beside and beside[n][1]) for n in eight]
                moves = self.tracks[eight[0]]["moves"]
                if self.packed:
                    coded = [(*each, [0, 0]) for each in source.eight(len(eight), moves)]
                else:
                    coded = source.eight(moves, contexts)
                for n, (raw, kappas, means) in zip(eight, coded):
                    t = self.tracks[n]
                    words = self.words_of(t, raw) if raw else self.moved(t, [s[n][0] for s in states], weights, kappas)
                    done[f][0][n] = words, means
                    done[f][1][n] = raw or self.transform(t, words)
        source.end()
        return done

    # clip.md#moving-nodes
    @staticmethod
    def around(schedule, frames, i):
        """The frames that a frame is predicted from, its level, their weights, and the frame before in the unit."""
        f = frames[i]
        key = schedule.depths[f] == 0
        references = [r for r in schedule.references(f) if not (key and r == 0)][: 1 if key else 4]
        if key:
            return references, 4 if references or f == 0 else 5, [1 << 16, 0, 0, 0], None
        at = [r - f for r in references]
        weights = []
        for k, a in enumerate(at):
            others = [o for j, o in enumerate(at) if j != k]
            over, under = math.prod(-o for o in others) << 16, math.prod(a - o for o in others)
            weights.append(abs(over) // abs(under) * (1 if (over < 0) == (under < 0) else -1))
        weights[0] += (1 << 16) - sum(weights)
        beside = frames[i - 1] if i and schedule.depths[frames[i - 1]] == schedule.depths[f] else None
        return references, (at[1] - at[0] - 1).bit_length() - 1, weights + [0] * (4 - len(weights)), beside

    # clip.md#moving-nodes
    @staticmethod
    def moved(t, around, weights, kappas):
        """Codes predicted from those of four frames, plus κ."""
        words, left = [], list(kappas)
        for part_ in range(3):
            if not t["moves"][part_]:
                words.append(None)
                continue
            own, left = left[:3], left[3:]
            before = [a[part_] for a in around]
            if part_ == 1:
                words.append(rotated(before, weights, [k * s for k, s in zip(own, t["turn"])]))
            else:
                predicted = [sum(w * b[k] for w, b in zip(weights, before)) >> 16 for k in range(3)]
                words.append([cut(p + k) for p, k in zip(predicted, own)])
        return words


# clip.md#symbols-of-moving-nodes
class States:
    """Residuals of moving nodes as symbols of up to eight states."""

    def __init__(self, data):
        b = Bytes(data)
        self.kind = b.get("B")
        need(self.kind <= 4 and (self.kind < 4 or len(data) == 1), "a number of states")
        self.count = 1 << self.kind % 4
        need(self.kind == 4 or len(data) > 4 * self.count, "states that end early")
        self.symbols = Symbols(data[1:], self.count)

    # clip.md#symbols-of-moving-nodes
    def eight(self, moves, contexts):
        """For each node its transform or None, κ, and means."""
        out, slots = [], [min(part_, 1) for part_ in range(3) if moves[part_] for _ in range(3)]
        if self.kind == 4:
            return [(None, [0] * len(slots), [0, 0])] * len(contexts)
        classes, means, raw = [], [], {}
        for lane, (level, first, second, beside) in enumerate(contexts):
            mean = [(a + b) >> 1 for a, b in zip(first, second)]
            moving = level == 5 or sum(mean) + (sum(beside) if beside else 0) > 0
            kind = self.symbols.symbol(bucket(60 if moving else 8)[0], lane % self.count)
            need(kind <= 7, "a class of moving nodes")
            classes.append(kind ^ (moving and kind < 2))
            means.append(mean)
        for lane in [n for n, kind in enumerate(classes) if kind == 7]:
            words = [self.symbols.even(32, lane % self.count) for _ in range(10)]
            raw[lane] = struct.unpack("<10f", struct.pack("<10I", *words))
            need(all(map(math.isfinite, raw[lane])), "a transform that is none")
        kappas = [[0] * len(slots) for _ in contexts]
        active = [n for n, kind in enumerate(classes) if 0 < kind < 7]
        for c, slot in enumerate(slots):
            found = []
            for lane in active:
                level, _, _, beside = contexts[lane]
                row = EXPECTED[4 * level + 2 * bool(beside) + (c > 0)]
                sigma = row[0] + row[1] * means[lane][slot] + (row[2] * beside[slot] if beside else 0)
                if c:
                    sigma += row[3] * (sum(map(abs, kappas[lane][:c])) * -(-65536 // c) >> 16)
                table_, low = bucket(min(sigma << (classes[lane] - 1) >> 3, 1 << 24))
                found.append((lane, self.symbols.symbol(table_, lane % self.count), low))
            for lane, symbol, low in found:
                k = self.symbols.rest(symbol, low, lane % self.count)
                kappas[lane][c] = max(-(1 << 28), min(1 << 28, k * (32 >> (classes[lane] - 1))))
        for lane, kind in enumerate(classes):
            sums = [[abs(k) for k, slot in zip(kappas[lane], slots) if slot == s] for s in range(2)]
            mean = [min(sum(s) * -(-65536 // len(s)) >> 16, 0xFFFF) if s and kind else 0 for s in sums]
            out.append((raw.get(lane), kappas[lane], [1 << 12] * 2 if kind == 7 else mean))
        return out

    # clip.md#symbols-of-moving-nodes
    def end(self):
        self.symbols.end()


# clip.md#packed-moving-nodes
class Packed:
    """Residuals of moving nodes in bits."""

    def __init__(self, data, eights):
        b = Bytes(data)
        kind = b.get("B")
        need(kind <= 1, "a kind of unit")
        flags = b.take((eights + 7) // 8) if kind else bytes((eights + 7) // 8)
        self.flags = [flags[i // 8] >> i % 8 & 1 for i in range(8 * len(flags))]
        need(not any(self.flags[eights:]), "flags of no nodes")
        self.codes, self.apart = [Bytes(b.take(b.varint()) if kind else b"") for _ in range(2)]
        self.fields, self.at = Bytes(b.take(len(data) - b.at)), 0

    # clip.md#packed-moving-nodes
    def eight(self, count, moves):
        """For each of `count` nodes its transform or None, and κ."""
        parts, flag, self.at = sum(moves), self.flags[self.at], self.at + 1
        if not flag:
            return [(None, [0] * 3 * parts)] * count
        nibbles = lambda n: [n >> 4 * lane & 15 for lane in range(8)]
        codes = [nibbles(self.codes.get("I")) for _ in range(max(parts, 1))][:parts or 1]
        widths = [[WIDTHS[c] for c in of_part] for of_part in codes]
        bits, used, out = 0, 0, []
        size = (3 * sum(map(sum, widths)) + 7) // 8
        bits = int.from_bytes(self.fields.take(size), "little")
        for lane in range(8):
            kappas = []
            for part_ in range(parts):
                w = widths[part_][lane]
                for _ in range(3):
                    v = bits >> used & ((1 << w) - 1)
                    kappas.append(32 * (v - (v >> w - 1 << w) if w else 0))
                    used += w
            raw = None
            if codes[0][lane] == 15 and lane < count:
                kind = self.apart.get("B")
                need(1 <= kind <= 7, "a class of moving nodes")
                if kind == 7:
                    raw = self.apart.get("10f")
                    need(all(map(math.isfinite, raw)), "a transform that is none")
                else:
                    numbers_ = [unzigzag(self.apart.varint()) for _ in kappas]
                    kappas = [max(-(1 << 28), min(1 << 28, k * (32 >> kind - 1))) for k in numbers_]
            out.append((raw, kappas))
        return out[:count]

    def end(self):
        self.codes.end()
        self.apart.end()
        self.fields.end()
