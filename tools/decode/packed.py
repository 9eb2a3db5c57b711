"""Chains of particles or curves in packed bits."""
from .basics import Bytes, need, unzigzag, wrap
from .description import COMPONENTS
from .particles import Chain


# mesh.md#packed-chains
class PackedChain:
    """Links of a packed chain."""

    def __init__(self, data, mesh_):
        self.bytes, self.mesh, self.laws = Bytes(data), mesh_, []
        for record in mesh_["streams"]:
            k = COMPONENTS[record["semantic"]]
            law = dict(k=k, wide=8 * record["word"], grain=min(self.bytes.varint(), 255) + 1)
            law.update(memory=min(self.bytes.varint(), 16), damping=min(self.bytes.varint(), 512))
            need(law["memory"] != 1, "a motion of one frame")
            law["pull"] = [max(-(1 << 22), min(1 << 22, unzigzag(self.bytes.varint()))) for _ in range(k)]
            self.laws.append(law)

    def end(self):
        self.bytes.end()

    # mesh.md#packed-chains
    def long(self):
        value = shift = 0
        while True:
            byte = self.bytes.get("B")
            need(byte or not shift, "a varint with a second spelling")
            value |= (byte & 0x7F) << shift
            need(value < 1 << 64, "a varint beyond 64 bits")
            shift += 7
            if byte < 0x80:
                return value

    # mesh.md#packed-chains
    def link(self, before):
        """The frame after another."""
        b, m, kind = self.bytes, self.mesh, self.bytes.varint()
        need(kind < 3, "a frame of a chain of no kind")
        f = dict(Chain.STILL, indices=[], ids=[], curves=[], moves=[], streams=[])
        at, curves = [], m["curves"] is not None
        if kind == 1 and m["ids"]:
            at = self.points(f, before["ids"])
        elif kind == 1:
            f["run"], count = b.varint(), b.varint()
            f["curves"] = [b.varint() for _ in range(count)] if curves else []
            f["count"] = sum(f["curves"]) if curves else count
            alike = (before["run"], before["count"]) == (f["run"], f["count"])
            at = [v if alike else None for v in range(f["count"])]
        elif kind == 2:
            f.update({k: before[k] for k in ("run", "ids", "curves", "count")})
            at = range(f["count"])
        need(f["count"] <= m["vertices"] and len(f["curves"]) <= (m["curves"] or dict(max_curves=0))["max_curves"], "too many points")
        starts, first = set(), 0
        for length in f["curves"]:
            starts.add(first)
            first += length
        for s, law in enumerate(self.laws):
            was = [None if v is None or before["moves"] is None else before["moves"][s][v] for v in at]
            moves = self.stream(law, was, starts) if kind else []
            f["moves"].append(moves)
            f["streams"].append([[p[0][c] for p in moves] for c in range(law["k"])])
        return f

    # mesh.md#packed-chains
    def points(self, f, ids):
        """The ids of a frame; returns the number of each point in the frame before."""
        b, gone, last = self.bytes, set(), -1
        for _ in range(b.varint()):
            last += b.varint() + 1
            need(last < len(ids), "too many points")
            gone.add(last)
        born, below = b.varint(), 0
        if born:
            above = b.get("B")
            need(above < 2, "births of no kind")
            below = ids[-1] + 1 if above and ids else 0
        list_ = [(i, v) for v, i in enumerate(ids) if v not in gone]
        for _ in range(born):
            below += self.long()
            need(below < 1 << 64, "an id beyond all")
            list_.append((below, None))
            below += 1
        list_.sort(key=lambda point: point[0])
        f["ids"], f["count"] = [i for i, _ in list_], len(list_)
        need(len(set(f["ids"])) == len(list_), "an id twice")
        return [v for _, v in list_]

    # mesh.md#packed-chains
    def stream(self, law, was, starts):
        k, apart = law["k"], self.bytes.get("B")
        need(apart < 2, "a stream of no kind")
        lists = [[], [], []]
        for v, p in enumerate(was):
            lists[2 if p is None else int(apart and not any(p[2]))].append(v)
        blocks = [list_[i : i + 16] for list_ in lists for i in range(0, len(list_), 16)]
        flags = self.bytes.take((len(blocks) + 7) // 8)
        filled = [i for i in range(8 * len(flags)) if flags[i // 8] >> i % 8 & 1]
        codes = self.bytes.take((len(filled) * k + 1) // 2)
        need(len(filled) * k % 2 == 0 or codes[-1] < 16, "a code without a block")
        got = [[0] * k for _ in was]
        for at, i in enumerate(filled):
            need(i < len(blocks), "residuals beyond the last block")
            for c in range(k):
                number = at * k + c
                values = self.fields(codes[number // 2] >> 4 * (number % 2) & 15)
                for v, value in zip(blocks[i], values):
                    got[v][c] = value
        out, born, start = [], None, None
        word = lambda value: value % (1 << law["wide"])
        most = lambda value: max(-(1 << 21), min(1 << 21, value))
        for v, (p, r) in enumerate(zip(was, got)):
            if p is None:
                like = (start if v in starts else born) or [0] * k
                out.append(([word(q + law["grain"] * x) for q, x in zip(like, r)], [0] * k, [0] * k))
                born = out[-1][0]
                start = born if v in starts else start
                continue
            code, off, velocity = [], [], []
            n, moves = law["memory"], any(p[2])
            smooth = n and moves and all(abs(x) <= 8 for x in r)
            for c, (q, o, speed) in enumerate(zip(*p)):
                pace = (law["damping"] * speed + 128 >> 8) + law["pull"][c] if moves else 0
                x = o + pace if moves else 0
                e, missed = x + 128 >> 8, wrap(law["grain"] * r[c], 32)
                code.append(word(q + e + missed))
                if smooth:
                    off.append(x - 256 * e - (256 - 512 * (2 * n - 1) // (n * (n + 1))) * missed)
                    velocity.append(most(pace + 1536 // (n * (n + 1)) * missed))
                else:
                    off.append(0)
                    velocity.append(256 * max(-(1 << 13), min(1 << 13, wrap(e + missed, 32))))
            out.append((code, off, velocity))
        return out

    # mesh.md#packed-chains
    def fields(self, code):
        b, others, most = self.bytes, {}, code
        if code == 14:
            most = b.get("B")
            need(14 <= most <= 32, "fields of another width")
        elif code == 15:
            head, count = b.get("BB")
            most, size = head & 15, head >> 4
            need(most < 14 and size < 3 and 0 < count < 16, "exceptions that a block cannot have")
            at = b.take((count + 1) // 2)
            at = [at[i // 2] >> 4 * (i % 2) & 15 for i in range(2 * len(at))]
            need(at[:count] == sorted(set(at[:count])) and not any(at[count:]), "exceptions that a block cannot have")
            others = {i: wrap(int.from_bytes(b.take(1 << size), "little"), 8 << size) for i in at[:count]}
        planes = [b.get("H") for _ in range(most)]
        values = [wrap(sum((plane >> v & 1) << i for i, plane in enumerate(planes)), most) if most else 0 for v in range(16)]
        return [others.get(v, value) for v, value in enumerate(values)]
