#!/usr/bin/env bash
# Textures of vertices in Blender: the program writes them, Blender opens the proxy with its own importer and the textures
# with its own loader, a node tree displaces the mesh as OpenVAT's documentation says, and where that puts vertices is held
# against the frames that the program writes as .obj.
#   tests/openvat.sh
# MESHREEL: the program, built already. BLENDERS: versions of bpy, "4.2.0 5.0.1" by default; of those that cannot be had it
# says so. BLENDER_VENVS: a folder where environments are kept for the next time. Needs Python 3.11 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
blenders=${BLENDERS:-4.2.0 5.0.1}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
venvs=${BLENDER_VENVS:-$made/venvs}

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

if [ -z "${MESHREEL:-}" ]; then
    step "the program"
    cargo build --locked --release -p meshreel-cli
    MESHREEL=${CARGO_TARGET_DIR:-target}/release/meshreel
fi

step "files"
cases=""
for case in a_flag_wind: a_flag_wind:separate n_robot_bone_parented: n_robot_bone_parented:exr \
    c_wall_fracture_onemesh:separate j_visibility_particles:; do
    input=${case%%:*}
    more=${case#*:}
    folder=$made/$input-${more:-packed}
    mkdir -p "$folder"
    "$MESHREEL" compile --quiet "testdata/inputs/$input.abc" -o "$folder/a.reel"
    "$MESHREEL" extract --quiet "$folder/a.reel" -o "$folder/frames/"
    words="--format openvat"
    case $more in separate) words="$words --normals separate" ;; exr) words="$words --image exr" ;; esac
    # shellcheck disable=SC2086
    "$MESHREEL" extract --json --quiet "$folder/a.reel" -o "$folder/thing_vat/" $words > "$folder/report.json"
    cases="$cases $folder"
done

ran=0
for version in $blenders; do
    step "Blender $version"
    # Blender 4 has NumPy 1 in it.
    case $version in 4.*) numpy='numpy==1.26.4' ;; *) numpy=numpy ;; esac
    use=$venvs/$version
    if [ ! -x "$use/bin/python" ]; then "$python" -m venv "$use"; fi
    if ! "$use/bin/pip" install --quiet "bpy==$version" "$numpy"; then
        echo "missing: bpy $version for this Python and this system; not tested with it" >&2
        continue
    fi
    # shellcheck disable=SC2086
    env -u PYTHONPATH "$use/bin/python" tests/openvat_blender.py $cases
    ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
    echo "no version of Blender was there to test with" >&2
    exit 1
fi
step "passed with $ran versions of Blender"
