#!/usr/bin/env bash
# Compiles small scenes with every preset, method and option, as seeds of the target `runtime`: fuzz/forge_seeds.sh [PROGRAM]
# PROGRAM is a built `meshreel`; without it one is built.
set -euo pipefail
cd "$(dirname "$0")/.."

program=${1:-}
if [ -z "$program" ]; then
    cargo build --quiet --release -p meshreel-cli
    program=target/release/meshreel
fi
corpus=${MESHREEL_CORPUS:-../shared/corpus}
out=fuzz/corpus/runtime
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 - "$work" <<'END_OF_SCENES'
import math, os, struct, sys

work = sys.argv[1]

def obj(name, points, faces, uvs=None):
    with open(os.path.join(work, name), "w") as out:
        for p in points:
            out.write("v %.7g %.7g %.7g\n" % tuple(p))
        for uv in uvs or []:
            out.write("vt %.7g %.7g\n" % tuple(uv))
        for i, face in enumerate(faces):
            out.write("usemtl m%d\n" % (2 * i // len(faces)))
            corner = (lambda v: "%d/%d" % (v + 1, v + 1)) if uvs else (lambda v: "%d" % (v + 1))
            out.write("f " + " ".join(corner(v) for v in face) + "\n")

def moving(name, faces, frames, uvs=None):
    obj(name + ".obj", frames[0], faces, uvs)
    with open(os.path.join(work, name + ".pc2"), "wb") as out:
        out.write(b"POINTCACHE2\0" + struct.pack("<iiffi", 1, len(frames[0]), 0, 1, len(frames)))
        for p in (p for frame in frames for p in frame):
            out.write(struct.pack("<3f", *p))

def grid(w, h):
    quad = lambda x, y: [y * w + x, y * w + x + 1, (y + 1) * w + x + 1, (y + 1) * w + x]
    return [quad(x, y) for y in range(h - 1) for x in range(w - 1)]

# Cloth, and a part of it that begins to move late and comes to rest.
w, h = 7, 6
wave = lambda x, y, t: (x + 0.1 * math.sin(t + y), y, 0.3 * math.sin(0.4 * t + x))
flat = [(x / w, y / h) for y in range(h) for x in range(w)]
moving("cloth", grid(w, h), [[wave(x, y, t) for y in range(h) for x in range(w)] for t in range(20)], flat)
late = lambda t: min(max(t - 8, 0), 6)
moving("late", grid(w, h), [[wave(x, y, late(t)) for y in range(h) for x in range(w)] for t in range(24)])
hill = lambda x, y, t: (x, y, 0.4 * math.sin(0.5 * t + x * y))
moving("heights", grid(9, 9), [[hill(x, y, t) for y in range(9) for x in range(9)] for t in range(12)])

# A wall of boxes that fly apart.
boxes, faces = [], []
for i in range(12):
    c = (i % 4, i // 4, 0)
    first = len(boxes) * 8
    boxes.append(c)
    for f in [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]:
        faces.append([first + v for v in f])
def flown(i, t):
    cx, cy, cz = boxes[i]
    t = min(max(t - 4 - i % 3, 0), 8)
    a = 0.2 * t * (1 + i % 4)
    for v in range(8):
        x, y, z = (v & 1) - 0.5, (v >> 1 & 1) - 0.5, (v >> 2 & 1) - 0.5
        yield (cx + x * math.cos(a) - y * math.sin(a) + 0.3 * t * (i % 5 - 2), cy + x * math.sin(a) + y * math.cos(a), cz + z + 0.5 * t)
moving("wall", faces, [[p for i in range(12) for p in flown(i, t)] for t in range(20)])

# A tube that bends.
def tube(t):
    for ring in range(12):
        for k in range(6):
            a = 0.12 * math.sin(0.4 * t) * max(ring - 3, 0)
            x, y = math.cos(k * math.pi / 3), math.sin(k * math.pi / 3)
            yield (x * math.cos(a) + ring * math.sin(a), y, ring * math.cos(a) - x * math.sin(a))
sides = [[r * 6 + k, r * 6 + (k + 1) % 6, (r + 1) * 6 + (k + 1) % 6, (r + 1) * 6 + k] for r in range(11) for k in range(6)]
moving("tube", sides, [list(tube(t)) for t in range(20)])

# A surface whose faces change.
for t in range(10):
    n = 4 + t % 3
    obj("fluid.%04d.obj" % t, [(x / n, y / n, 0.1 * math.sin(t + x)) for y in range(n) for x in range(n)], grid(n, n))
obj("rock.obj", [wave(x, y, 0) for y in range(h) for x in range(w)], grid(w, h), flat)
END_OF_SCENES

cat >"$work/tiers.toml" <<'END_OF_OPTIONS'
[[layer]]
name = "base"
tiers = 2

[[layer]]
name = "cosmetic"
share = 0.5
tiers = 2
END_OF_OPTIONS

# make NAME IN… OPTIONS: one seed; files above 64 kB are too slow to be changed often.
made=0
make() {
    local name=$1
    shift
    if ! "$program" compile "$@" --quiet --jobs 1 -o "$work/$name.reel" 2>"$work/log"; then
        printf 'no seed %s: %s\n' "$name" "$(tail -1 "$work/log")" >&2
        return
    fi
    if [ "$(stat -c %s "$work/$name.reel")" -le 65536 ]; then
        cp "$work/$name.reel" "$out/$name"
        made=$((made + 1))
    else
        printf 'no seed %s: too large\n' "$name" >&2
    fi
}
sequence() {
    local name=$1 input=$2
    shift 2
    make "$name" "$work/$input.obj" --points "$work/$input.pc2" "$@"
}

for preset in small fast classic; do
    for scene in cloth late wall tube heights; do
        sequence "$preset-$scene" "$scene" --preset "$preset"
        sequence "$preset-$scene-soft" "$scene" --preset "$preset" --method soft --strip
    done
    make "$preset-fluid" "$work/fluid.####.obj" --preset "$preset"
    make "$preset-remesh" "$work/fluid.####.obj" --preset "$preset" --remesh --tolerance 5%
    make "$preset-static" "$work/rock.obj" --preset "$preset"
    sequence "$preset-lod" cloth --preset "$preset" --lod 2
    sequence "$preset-cull" wall --preset "$preset" --cull-hidden
    for name in m_scale_shear n_robot_bone_parented; do
        make "$preset-$name" "testdata/inputs/$name.abc" --preset "$preset"
    done
    for name in g_scene_attributes j_visibility_particles; do
        make "$preset-$name" "testdata/inputs/$name.abc" --preset "$preset" --range 0:16 --tolerance 1%
    done
    make "$preset-prism" testdata/inputs/prism.glb --preset "$preset"
done
for block in store deflate lz4hc zstd; do
    sequence "block-$block" cloth --preset classic --block "$block" --index-every 4
    sequence "block-$block-effort" late --preset classic --block "$block" --effort 9 --index-every 9
done
for method in rigid skinned; do
    sequence "small-$method" wall --method "$method"
    sequence "fast-$method" tube --preset fast --method "$method" --tolerance 1%
    sequence "small-tube-$method" tube --method "$method" --tolerance 1%
done
for preset in small fast; do
    sequence "$preset-packed" wall --method rigid --transforms packed --preset "$preset"
    sequence "$preset-apart" cloth --preset "$preset" --attributes-apart
    make "$preset-apart-scene" testdata/inputs/m_scale_shear.abc --preset "$preset" --attributes-apart
    sequence "$preset-cycle" cloth --preset "$preset" --cycle --fps 25
    sequence "$preset-restart" late --preset "$preset" --index-every 16
done
for codec in sampled curve; do
    make "clip-$codec" testdata/inputs/n_robot_bone_parented.abc --clips-only --codec "$codec"
    make "clip-prism-$codec" testdata/inputs/prism.glb --clips-only --codec "$codec"
done
make clip-layers testdata/inputs/n_robot_bone_parented.abc --clips-only --options "$work/tiers.toml"
if [ -d "$corpus/characters" ]; then
    make clip-hero "$corpus/characters/hero.bvh" --range 0:40
    make clip-hero-curve "$corpus/characters/hero.bvh" --range 0:40 --codec curve
    make clip-hero-layers "$corpus/characters/hero.bvh" --range 0:40 --options "$work/tiers.toml"
fi
for file in testdata/golden/*/*.reel; do
    cp "$file" "$out/golden-$(basename "$file" .reel)"
done
printf '%s seeds in %s\n' "$made" "$out"
