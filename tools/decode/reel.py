"""A whole file, frame by frame."""
import math

from .basics import Bytes, need
from .bones import Bones
from .changing import Changing
from .container import container, part
from .corners import COMPACT, compact
from .description import FIXED_POINT_CODINGS, COMPONENTS, MOVED, description
from .fixed_point import FixedPointPart
from .nodes import Nodes
from .packed import PackedChain
from .particles import Chain, Particles, point_set
from .predicted import F, Predicted
from .streams import (
    choices, columns_and_rows, decode_values, grid_shape, indices, matrix, product, stream, table,
    transforms,
)
from .units import Schedule, hierarchy, quincunx
from .uvs import surface_uvs


# container.md#chunk-kinds
class Reel:
    def __init__(self, data):
        self.data = data
        self.container = container(data)
        self.chunks = {}
        chunks = self.container["chunks"]
        (only,) = [i for i, c in enumerate(chunks) if c["kind"] == 1]
        self.frames = [c for c in chunks if c["kind"] in (5, 6)]
        self.description = description(self.chunk(only))
        # Attributes that are apart lie behind their units.
        self.behind = [chunks[i + 1] for i, c in enumerate(chunks[:-1]) if c["kind"] in (5, 6) and chunks[i + 1]["kind"] == 15]
        apart = any(m["separate_attributes"] for m in self.description["meshes"])
        need(len(self.behind) == sum(c["kind"] == 15 for c in chunks) == (len(self.frames) if apart else 0),
             "attributes that are not behind their units")
        count, self.schedule = len(self.container["times"]), None
        if self.description["restart"]:
            self.schedule = Schedule(count, self.description["restart"])
            self.units = self.schedule.units()
            self.nodes = Nodes(self.description) if self.description["node_setup"] else None
            count = len(self.units)
        need(len(self.frames) == count, "another number of units than frames need")
        ends = self.schedule is None and self.frames
        need(not ends or self.frames[0]["kind"] == self.frames[-1]["kind"] == 5, "ends that are not index frames")
        self.static = [None if m["method"] in (4, 5) else self.static_data(m) for m in self.description["meshes"]]
        self.ends = [self.end_states(*each) for each in zip(self.description["meshes"], self.static)]
        self.decoded, self.linked = {}, {}

    # container.md#chunk-entry
    def chunk(self, i):
        if i not in self.chunks:
            self.chunks[i] = part(self.data, self.container["chunks"][i])
        return self.chunks[i]

    # mesh.md#units-and-locations
    def located(self, location):
        chunk, offset, size = location
        return Bytes(self.chunk(chunk)[offset : offset + size] if size else b"")

    # mesh.md#static-data
    def static_data(self, m):
        b = self.located(m["connectivity"])
        point, index, points = [], [], {}
        if m["persistent"]:
            points = point_set(b, m)
        elif b.data[:5] == COMPACT:
            index, point = compact(b, m["indices"], m["vertices"], [(part_["first"], part_["count"]) for part_ in m["materials"]])
        else:
            index = indices(b, m["indices"], m["vertices"]) if b.data else []
        b.end()
        shape = grid_shape(self.located(m["connectivity"])) if not m["persistent"] else None
        b = self.located(m["values"])
        if point:
            fixed_point = any(s["coding"] in FIXED_POINT_CODINGS for s in m["streams"])
            need(not fixed_point or max(point) + 1 == m["points"], "another number of points")
        elif any(s["coding"] in FIXED_POINT_CODINGS for s in m["streams"]):
            next_ = 0
            for _ in range(m["vertices"]):
                back = b.varint()
                need(back <= next_, "a point that is not there")
                point.append(next_ - back)
                next_ += back == 0
            need(next_ == m["points"], "another number of points")
        else:
            point = list(range(m["vertices"]))
        table_ = table(b, index, m["vertices"]) if m["has_table"] else None
        triangles = list(zip(index[::3], index[1::3], index[2::3]))
        streams, cells, predicted, domains = [], {}, {}, {}
        for i, s in enumerate(m["streams"]):
            if s["coding"] in FIXED_POINT_CODINGS:
                of_points = s["semantic"] == 0
                if of_points not in domains:
                    corners = [tuple(point[v] for v in t) for t in triangles] if of_points else triangles
                    count = m["points"] if of_points else m["vertices"]
                    levels = quincunx(shape) if shape and shape[0] * shape[1] == count else hierarchy(count, corners)
                    place = {p: new for new, p in enumerate(levels["order"])}
                    domains[of_points] = levels, [place[point[v] if of_points else v] for v in range(m["vertices"])]
                levels, places = domains[of_points]
                places_ = columns_and_rows(shape) if s["coding"] == 4 else None
                if s["coding"] == 3:
                    parts = [Bones(b.take(b.varint()), s, levels, [tuple(point[v] for v in t) for t in triangles])]
                else:
                    count = (COMPONENTS[s["semantic"]] + 2) // 3
                    parts = [FixedPointPart(b.take(b.varint()), levels, places_) for _ in range(count)]
                cells[i] = parts, places
                streams.append([part_.first for part_ in parts])
            elif s["coding"] == 2:
                predicted[i] = b.take(b.varint())
                streams.append(None)
            elif s["semantic"] == 3 and not s["animated"] and b.data[b.at : b.at + 1] == b"\3":
                b.take(1)
                need(0 in cells, "uvs on a surface without fixed-point positions")
                streams.append(surface_uvs(b, s, triangles, cells[0][1], cells[0][0][0].first))
            else:
                streams.append(stream(b, s, m["vertices"], table_))
        b.end()
        for i, data in predicted.items():
            uvs = []
            if m["streams"][i]["semantic"] == 2:
                is_first = lambda s: s["semantic"] == 3 and s["set"] == 0 and not s["animated"]
                (at,) = [k for k, s in enumerate(m["streams"]) if is_first(s)]
                uvs = decode_values(m["streams"][at], streams[at])
            first = cells[0][0][0]
            vectors, moved = self.vectors(first, first.first), m["streams"][0]["coding"] == 3
            bones = first.turning() if moved and not first.affine else None
            predicted[i] = Predicted(data, triangles, cells[0][1], uvs, shape, vectors, bones)
            still = first.first_state["transforms"] if moved else None
            streams[i] = self.predicted_directions(predicted[i], first, first.first, predicted[i].base, still)
        return dict(indices=index, table=table_, streams=streams, cells=cells, predicted=predicted, points=points)

    # mesh.md#predicted
    @staticmethod
    def vectors(part_, frame):
        scale = 1.0 if part_.width == 16 else 1 / 65536
        return [[F(x) * scale for x in v[:3]] for v in frame]

    # mesh.md#predicted
    def predicted_directions(self, predicted, part_, frame, states, transforms):
        return predicted.directions(self.vectors(part_, frame), states, transforms)

    # mesh.md#units
    def layered_frame(self, i):
        """A frame of a layered file, with all frames of its unit."""
        for n, (kind, number, frames) in enumerate(self.units):
            if i not in frames:
                continue
            for needed in self.schedule.needs(frames):
                # The static data hold what a key would take from the first frame.
                if needed not in self.decoded and not (kind == "key" and needed == 0):
                    self.layered_frame(needed)
            if any(m["codec"] in (3, 4) for m in self.description["meshes"]):
                for needed in self.schedule.chain_needs(kind, number, frames):
                    if needed not in self.decoded:
                        self.layered_frame(needed)
            behind = part(self.data, self.behind[n]) if self.behind else b""
            self.read_unit(part(self.data, self.frames[n]), behind, kind, number, frames)
            return

    # mesh.md#chains
    def read_links(self, data, mesh_, kind, number, frames):
        """Links of a chain, for all frames that they are of."""
        (k, m), schedule = mesh_, self.schedule
        before, list_ = Chain.STILL, frames
        if kind != "key" or schedule.goes_on(number):
            group = number - (kind == "key")
            if schedule.home(group) not in frames:
                need(not data, "links of a chain where there can be none")
                return
            before, list_ = self.linked[k, schedule.keys[group]], schedule.links(group)
        unit = (Chain if m["codec"] == 3 else PackedChain)(data, m)
        for f in list_:
            before = self.linked[k, f] = unit.link(before)
        unit.end()

    # mesh.md#a-units-content
    def read_unit(self, content, behind, kind, number, frames):
        b, d, schedule = Bytes(content), self.description, self.schedule
        behind = Bytes(behind)
        new = {f: dict(shown=[], transforms=[], meshes=[dict() for _ in d["meshes"]]) for f in frames}
        find = lambda f: new.get(f) or self.decoded[f]
        hidden = sum(n["visibility"] == 2 for n in d["nodes"])
        animated = sum(n["animated"] for n in d["nodes"])
        near = {}
        for f in frames:
            # A key does not count frame 0.
            references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
            near[f] = references[:1] * 3 + (references[1:2] or references[:1])
            bits = b.take((hidden + 7) // 8)
            new[f]["shown"] = [bits[k // 8] >> k % 8 & 1 == 1 for k in range(hidden)]
            if animated and not self.nodes:
                new[f]["transforms"] = transforms(b, animated, near[f] and find(near[f][0])["transforms"])
        if self.nodes:
            done = self.nodes.unit(b.take(b.varint()), schedule, frames, lambda f: self.decoded[f]["states"])
            for f in frames:
                new[f]["states"], new[f]["transforms"] = done[f]
        for k, (m, static) in enumerate(zip(d["meshes"], self.static)):
            if m["method"] == 4 and m["codec"]:
                unit = Changing(b.take(b.varint()), m)
                for f in frames:
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    new[f]["meshes"][k] = unit.frame([find(r)["meshes"][k] for r in references])
                unit.end()
                continue
            if m["method"] == 4:
                for f in frames:
                    new[f]["meshes"][k] = self.fluid(b, m)
                continue
            if m["method"] == 5 and m["codec"] in (3, 4):
                self.read_links(b.take(b.varint()), (k, m), kind, number, frames)
                for f in frames:
                    new[f]["meshes"][k] = self.linked[k, f]
                continue
            if m["method"] == 5:
                unit = Particles(b.take(b.varint()), m)
                for f in frames:
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    new[f]["meshes"][k] = unit.frame([(r - f, find(r)["meshes"][k]) for r in references])
                unit.end()
                continue
            content_of = lambda f: find(f)["meshes"][k]
            own = self.own(m)
            if not own:
                done = self.soft([b, behind], m, static, schedule, kind, number, frames, content_of)
                for f in frames:
                    new[f]["meshes"][k] = done[f]
                continue
            inside, start, end, ends = own
            for f in frames:
                # Whole units lie inside, or outside.
                at = 0 if f <= start and ends[0] else 1 if f >= end and ends[1] else None
                if at is not None:
                    new[f]["meshes"][k] = self.ends[k][at]
            if not any(new[f]["meshes"][k] for f in frames):
                of = lambda f: self.ends[k][0] if f == 0 and ends[0] else self.ends[k][1] if f == end - start and ends[1] \
                    else content_of(f + start)
                moved = [f - start for f in frames]
                done = self.soft([b, behind], m, static, inside, kind, number - start // 16, moved, of)
                for f in frames:
                    new[f]["meshes"][k] = done[f - start]
        b.end()
        behind.end()
        self.decoded.update(new)

    # mesh.md#end-states
    def own(self, m):
        """For a mesh that stands still for some time: the schedule of its own frames, the first and the last one, and whether it
        stands still before, and after."""
        if not m["moving_frames"]:
            return None
        (first, last), apart, frames = m["moving_frames"], 16 * self.schedule.restart, self.schedule.frames
        start, end = first - first % apart, min(-(-last // apart) * apart, frames - 1)
        ends = start > 0, end + 1 < frames
        return (Schedule(end - start + 1, self.schedule.restart), start, end, ends) if any(ends) else None

    # mesh.md#end-states
    def end_states(self, m, static):
        """The end states of such a mesh: before it moves, and afterwards."""
        own = self.own(m) if self.schedule else None
        if not own or m["method"] not in MOVED:
            return None
        b, (schedule, start, end, ends) = self.located(m["end_states"]), own
        out = [None, None]
        for at, frame in ((0, 0), (1, end - start)):
            if ends[at]:
                data = Bytes(b.take(b.varint()))
                done = self.soft([data, data], m, static, schedule, "key", schedule.keys.index(frame), [frame], None)
                data.end()
                out[at] = done[frame]
        b.end()
        return out

    # mesh.md#a-units-content
    def soft(self, both, m, static, schedule, kind, number, frames, content_of):
        """The data of a mesh in the frames of a unit. `both`: the unit, and the attributes behind it."""
        new = {f: dict(indices=static["indices"], streams=list(static["streams"]), states={}) for f in frames}
        find = lambda f: new.get(f) or content_of(f)
        for s, record in enumerate(m["streams"]):
            if m["method"] not in MOVED or not record["animated"]:
                continue
            b = both[m["separate_attributes"] and s > 0]
            if record["coding"] == 3:
                (bones,), _ = static["cells"][s]
                done = bones.unit_states(b.take(b.varint()), schedule, frames, lambda f: find(f)["states"][s])
                for f in frames:
                    new[f]["states"][s], new[f]["streams"][s] = done[f], [done[f]["positions"]]
            elif record["coding"] in FIXED_POINT_CODINGS:
                for f in frames:
                    new[f]["streams"][s] = []
                for p, cells in enumerate(static["cells"][s][0]):
                    first = lambda f: cells.first if f == 0 else find(f)["streams"][s][p]
                    data = b.take(b.varint())
                    done = {0: cells.first} if frames == [0] else cells.unit_frames(data, schedule, frames, first)
                    for f in frames:
                        new[f]["streams"][s].append(done[f])
            elif record["coding"] == 2:
                predicted = static["predicted"][s]
                earlier = [find(f)["states"][s] for f in schedule.near(kind, number, frames)]
                states = predicted.unit_states(b.take(b.varint()), len(frames), earlier)
                for f, state in zip(frames, states):
                    new[f]["states"][s] = state
                    transforms_ = new[f]["states"][0]["transforms"] if 0 in new[f]["states"] else None
                    new[f]["streams"][s] = self.predicted_directions(
                        predicted, static["cells"][0][0][0], new[f]["streams"][0][0], state, transforms_)
            else:
                for f in frames:
                    # A key does not count frame 0.
                    references = [r for r in schedule.references(f) if r > 0 or kind != "key"]
                    group = [find(r)["streams"][s] for r in references[:1] * 3 + (references[1:2] or references[:1])] or None
                    if group:
                        group[1] = None
                    new[f]["streams"][s] = stream(b, record, m["vertices"], static["table"], static["streams"][s], group)
        return new

    # mesh.md#units
    def frame(self, i):
        """The content of a frame, with all frames that it needs."""
        if i in self.decoded:
            return self.decoded[i]
        if self.schedule:
            self.layered_frame(i)
            return self.decoded[i]
        frames = self.frames
        near = None
        if frames[i]["kind"] == 6:
            first = max(j for j in range(i) if frames[j]["kind"] == 5)
            last = min(j for j in range(i, len(frames)) if frames[j]["kind"] == 5)
            for j in range(first, i):
                self.frame(j)
            before = self.frame(i - 2) if i - 2 >= first else None
            near = (self.frame(i - 1), before, self.frame(first), self.frame(last))
        self.decoded[i] = self.read_frame(part(self.data, frames[i]), near)
        return self.decoded[i]

    # mesh.md#a-units-content
    def read_frame(self, content, near):
        b, d = Bytes(content), self.description
        hidden = [n for n in d["nodes"] if n["visibility"] == 2]
        bits = b.take((len(hidden) + 7) // 8)
        animated = sum(n["animated"] for n in d["nodes"])
        f = dict(shown=[bits[i // 8] >> i % 8 & 1 == 1 for i in range(len(hidden))], transforms=[], meshes=[])
        if animated:
            f["transforms"] = transforms(b, animated, near and near[0]["transforms"])
        for i, (m, static) in enumerate(zip(d["meshes"], self.static)):
            if m["method"] == 4:
                f["meshes"].append(self.fluid(b, m))
                continue
            if m["method"] == 5:
                unit = Particles(b.take(b.varint()), m)
                f["meshes"].append(unit.frame([]))
                unit.end()
                continue
            streams = list(static["streams"])
            for s, record in enumerate(m["streams"]):
                if m["method"] in MOVED and record["animated"]:
                    group = near and [n and n["meshes"][i]["streams"][s] for n in near]
                    streams[s] = stream(b, record, m["vertices"], static["table"], static["streams"][s], group)
            f["meshes"].append(dict(indices=static["indices"], streams=streams))
        b.end()
        return f

    # mesh.md#a-units-content
    def fluid(self, b, m):
        shown = b.get("B")
        need(shown in (0, 1), "neither shown nor hidden")
        if not shown:
            return dict(indices=[], streams=[[[] for _ in range(COMPONENTS[s["semantic"]])] for s in m["streams"]])
        vertices, count, points = b.get("III")
        ranges = [b.get("II") for _ in m["materials"]]
        index = indices(b, count, vertices)
        table_ = [l[0] for l in choices(index, vertices)]
        return dict(indices=index, ranges=ranges, streams=[stream(b, s, vertices, table_) for s in m["streams"]])

    # mesh.md#nodes-and-space
    def show(self, i):
        """A frame as numbers."""
        f, d = self.frame(i), self.description
        shown, moved, nodes = iter(f["shown"]), iter(f["transforms"]), []
        for n in d["nodes"]:
            local = matrix(next(moved) if n["animated"] else n["rest"])
            world = product(nodes[n["parent"]]["world"], local) if n["parent"] >= 0 else local
            visible = next(shown) if n["visibility"] == 2 else n["visibility"] == 0
            nodes.append(dict(path=n["path"], mesh=n["mesh"], world=world, visible=visible))
        meshes = []
        for m, static, content in zip(d["meshes"], self.static, f["meshes"]):
            streams = []
            for k, (s, w) in enumerate(zip(m["streams"], content["streams"])):
                if s["coding"] in FIXED_POINT_CODINGS:
                    parts, places = static["cells"][k]
                    values = [part_.values(frame, places) for part_, frame in zip(parts, w)]
                    streams.append([sum(v, [])[: COMPONENTS[s["semantic"]]] for v in zip(*values)])
                elif s["coding"] == 2:
                    streams.append(w)
                else:
                    streams.append(decode_values(s, w))
            names = [dict(semantic=s["semantic"], set=s["set"], values=v) for s, v in zip(m["streams"], streams)]
            shown_as = dict(path=m["path"], indices=content["indices"], streams=names)
            of_points = static and static["points"] or content
            shown_as.update({key: of_points[key] for key in ("ids", "curves") if key in of_points})
            meshes.append(shown_as)
        time, bounds = self.container["times"][i], self.container["boxes"][i]
        bounds = bounds if all(map(math.isfinite, bounds)) else None
        return dict(frame=i, time=time, box=bounds, nodes=nodes, meshes=meshes)
