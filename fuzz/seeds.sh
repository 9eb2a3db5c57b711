#!/usr/bin/env bash
# Fills fuzz/corpus with seeds: what lies in testdata, and files of the corpus that are small enough to be changed often.
set -euo pipefail
cd "$(dirname "$0")/.."

corpus=${MESHREEL_CORPUS:-../shared/corpus}
largest=200k

# seed TARGET FILE…: copies each file under the name of its content, so that running twice adds nothing.
seed() {
    local target=$1 file sum
    shift
    mkdir -p "fuzz/corpus/$target"
    for file in "$@"; do
        sum=$(cksum <"$file" | tr -s ' \t' '-')
        cp "$file" "fuzz/corpus/$target/$sum"
    done
}

# find_seeds TARGET PATTERN FOLDER…: all small files of that name.
find_seeds() {
    local target=$1 pattern=$2 folder file
    shift 2
    mkdir -p "fuzz/corpus/$target"
    for folder in "$@"; do
        [ -d "$folder" ] || continue
        while IFS= read -r -d '' file; do
            seed "$target" "$file"
        done < <(find "$folder" -type f -name "$pattern" -size "-$largest" -print0)
    done
}

# Both layouts have the same name; each target rejects the other's.
find_seeds ogawa '*.abc' testdata "$corpus/alembic"
find_seeds hdf5 '*.abc' testdata "$corpus/alembic"
find_seeds obj '*.obj' testdata "$corpus"
find_seeds ply '*.ply' testdata "$corpus"
find_seeds bvh '*.bvh' testdata "$corpus/characters"
find_seeds gltf '*.glb' testdata "$corpus/characters"
find_seeds gltf '*.gltf' testdata
find_seeds usd '*.usd*' testdata
find_seeds fbx '*.fbx' testdata
find_seeds pc2 '*.pc2' testdata "$corpus"
find_seeds mdd '*.mdd' testdata "$corpus"
find_seeds container '*.reel' testdata
find_seeds whole_file '*.reel' testdata
find_seeds layers '*.reel' testdata/golden/clips

# Blocks, descriptions and source maps out of whole files; and a small mesh in each of the plain formats.
if command -v python3 >/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 python3 - testdata/golden/v*/*.reel <<'END'
import os, struct, sys, zlib
sys.path.insert(0, "tools")
from decode.container import block, container

def seed(target, data):
    folder = os.path.join("fuzz/corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "%08x" % zlib.crc32(data)), "wb") as out:
        out.write(data)

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        data = file.read()
    table = container(data)
    for entry in table["chunks"]:
        stored = data[entry["offset"] : entry["offset"] + entry["size"]]
        seed("block", stored)
        target = {1: "record", 4: "source_map"}.get(entry["kind"])
        if target and stored[:1] == b"\0":
            seed(target, block(stored))

corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0.5)]
lines = [f"v {x} {y} {z} 1 0.5 0" for x, y, z in corners] + ["vt 0 0", "vt 1 1", "vn 0 0 1"]
lines += ["o a", "g b c", "usemtl m 1", "s off", "f 1/1/1 2/2/1 3/1/1 4", "f -1 -2 -3", "f 1//1 2//1 \\", " 3//1", "l 1 2"]
seed("obj", "\n".join(lines).encode())
seed("obj", "\r\n".join(lines).encode())
head = "ply\nformat {} 1.0\ncomment c\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
head += "property uchar red\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
text = "\n".join(f"{x} {y} {z} 7" for x, y, z in corners) + "\n4 0 1 2 3\n3 0 1 2\n"
seed("ply", (head.format("ascii") + text).encode())
for name, order in [("binary_little_endian", "<"), ("binary_big_endian", ">")]:
    body = b"".join(struct.pack(order + "fffB", *c, 7) for c in corners)
    body += struct.pack(order + "B4i", 4, 0, 1, 2, 3) + struct.pack(order + "B3i", 3, 0, 1, 2)
    seed("ply", head.format(name).encode() + body)
points = [x for c in corners for x in c] * 3
seed("pc2", b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 0, 1, 3) + struct.pack("<36f", *points))
seed("mdd", struct.pack(">ii3f", 3, 4, 0, 0.5, 1) + struct.pack(">36f", *points))
END
fi

# What a regression was found with goes to the target that its folder is named after.
if [ -d testdata/regressions ]; then
    for folder in testdata/regressions/*/; do
        [ -d "$folder" ] && find_seeds "$(basename "$folder")" '*' "$folder"
    done
fi
