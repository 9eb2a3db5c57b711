"""Clips with their layers and tiers."""
import math

from .basics import Bytes, CLIP, LAYERS, SKELETON, TIERS, f32, need
from .clip_forms import Curve, RandomAccess, Streamed
from .clip_header import clip_record, skeleton_record
from .container import container, part


# clip.md#layers-and-tiers
def layer_table(data):
    b = Bytes(data)
    out = dict(clip=b.varint(), samples=b.varint(), layers=[], tier_parts=[])
    count = b.varint()
    if count >= 32:
        out["layers"] = [dict(name=b.text()) for _ in range(count - 32)]
        stepped, joint = set(), 0
        for _ in range(b.varint()):
            joint += b.varint()
            stepped.add(joint)
        joints = b.varint()
        pairs = b.take((joints + 1) // 2)
        out["joint_layers"] = [pairs[j // 2] >> j % 2 * 4 & 15 for j in range(joints)]
        out["stepped"] = [int(j in stepped) for j in range(joints)]
        b.end()
        return out
    for _ in range(count):
        name, step = b.text(), b.get("d")
        extra = [b.varint() for _ in range(b.varint())]
        out["layers"].append(dict(name=name, step=step, extra=extra, header=b.take(b.varint())))
    for _ in range(b.varint()):
        layer, tier = b.get("BB")
        out["tier_parts"].append((layer, tier, *(b.varint() for _ in range(4))))
    rest = b.take(len(b.data) - b.at)
    out["joint_layers"], out["stepped"] = [v & 15 for v in rest], [v >> 7 for v in rest]
    return out


# clip.md#layers-and-tiers
def own_samples(layer, samples):
    """The samples of the clip that a layer has."""
    if not layer or layer.get("step", 0) == 0:
        return list(range(samples))
    at, extra = 0, []
    for more in layer["extra"]:
        at += more
        extra.append(at)
    regular = []
    while math.floor(len(regular) * layer["step"] + 0.5) < samples:
        regular.append(math.floor(len(regular) * layer["step"] + 0.5))
    return sorted({*regular, samples - 1, *extra})


# clip.md#layers-and-tiers
def streamed_layers(skeleton, content, table, chunks):
    """The layers of a clip in the streamed form, the base first."""
    b = Bytes(content)
    layers = [Streamed(skeleton, b.take(b.varint()))]
    layers[0].read_keys(b.take(b.varint()))
    layers[0].read_segments(b, 0, 0, len(layers[0].h["keys"]) - 1)
    b.end()
    divided = bool(table and table["tier_parts"]) or bool(table and len(table["layers"]) > 1 and "step" in table["layers"][0])
    for layer in table["layers"][1:] if divided else []:
        layers.append(Streamed(skeleton, layer["header"]))
    done = {(0, 0): len(layers[0].h["keys"]) - 1}
    for layer, tier, chunk, offset, size, segments in table["tier_parts"] if divided else []:
        own, b = layers[layer], Bytes(chunks[chunk][offset : offset + size])
        first = done.get((layer, tier), 0)
        if layer and not tier and not first and not own.words:
            own.read_keys(b.take(b.varint()))
        own.read_segments(b, tier, first, segments)
        done[layer, tier] = first + segments
        b.end()
    for layer in layers:
        layer.read_samples()
    return layers


# clip.md#random-access-form
def blend(left, right, share):
    """A pose that is this share of the way between two others."""
    mix = lambda a, b: [*RandomAccess.between(0, a[:4], b[:4], share), *RandomAccess.between(3, a[4:], b[4:], share)]
    return [mix(*pair) for pair in zip(left, right)]


# clip.md#skeletons-and-clips
def clips(data):
    """Name, codec and joints of each clip, and the poses of all samples and of 30 % of the way from each to the
    next."""
    chunks = container(data)["chunks"]
    of = lambda kind: [part(data, c) for c in chunks if c["kind"] == kind]
    skeletons = [skeleton_record(s) for s in of(SKELETON)]
    tables = {t["clip"]: t for t in map(layer_table, of(LAYERS))}
    tier_chunks = [data[c["offset"] : c["offset"] + c["size"]] for c in chunks if c["kind"] == TIERS]
    out = []
    for i, clip in enumerate(map(clip_record, of(CLIP))):
        skeleton, table = skeletons[clip["skeleton"]], tables.get(i)
        joints = len(skeleton["parents"])
        if clip["codec"] == "curve":
            curve = Curve(skeleton, clip["content"])
            count = curve.samples
            at = lambda s, part_: blend(curve.pose(s), curve.pose(min(s + 1, count - 1)), f32(part_))
        elif clip["codec"] == "sampled":
            layers = streamed_layers(skeleton, clip["content"], table, tier_chunks)
            count = table["samples"] if table else layers[0].samples
            divided = len(layers) > 1
            own = [own_samples(table["layers"][l] if divided else None, count) for l in range(len(layers))]

            def at(s, part_):
                all_, held = [], []
                for layer, list_ in zip(layers, own):
                    k = max(k for k, sample in enumerate(list_) if sample <= s)
                    after = list_[min(k + 1, len(list_) - 1)]
                    share = f32((s + part_ - list_[k]) / (after - list_[k])) if after > list_[k] else 0.0
                    left, right = layer.pose(k), layer.pose(min(k + 1, len(list_) - 1))
                    held.append(left)
                    all_.append(blend(left, right, share))
                of_layer = lambda j: table["joint_layers"][j] if divided else 0
                is_held = lambda j: table and table["stepped"][j]
                return [(held if is_held(j) else all_)[of_layer(j)][j] for j in range(joints)]
        else:
            b = Bytes(clip["content"])
            header = b.take(b.varint())
            layers = [RandomAccess(skeleton, header, b.data[b.at :])]
            for layer, tier, chunk, offset, size, segments in table["tier_parts"] if table else []:
                need((layer, tier) == (len(layers), 0), "a layer that is not one tier part")
                layers.append(RandomAccess(skeleton, table["layers"][layer]["header"], tier_chunks[chunk][offset : offset + size]))
            count = layers[0].h["samples"]

            def at(s, part_):
                all_ = [layer.pose(s, min(s + (part_ > 0), count - 1), part_) for layer in layers]
                held = [layer.pose(s, s, 0.0) for layer in layers] if table else all_
                from_ = lambda j: (held if table and table["stepped"][j] else all_)[table["joint_layers"][j] if table else 0]
                return [from_(j)[j] for j in range(joints)]
        poses = [at(s, part_) for s in range(count) for part_ in (0.0, 0.3)]
        out.append(dict(name=clip["name"], codec=clip["codec"], joints=skeleton["names"], poses=poses))
    return out
