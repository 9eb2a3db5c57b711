#!/usr/bin/env bash
# The extension for Godot: formats, lints, documentation, tests without the engine, and tests in the engine. Needs a C
# compiler; cold, the bindings of Godot take about ten minutes to build on two cores.
#
# In the engine, only with `godot` 4.4 or later on PATH: first without a display, then, with DISPLAY or xvfb-run, drawn
# (Mesa's llvmpipe will do). Imports and files with levels of detail, cameras and characters are tested only with the
# program `meshreel` on PATH or named in MESHREEL. The conformance set is compared only with Python 3. What cannot be
# run is said to be skipped.
#   tests/godot.sh
#   MESHREEL=target/release/meshreel tests/godot.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/integrations/godot"
program=${MESHREEL:-$(command -v meshreel || true)}
[ -z "$program" ] || program=$(realpath "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

# Compiles the sources that tests use, if the program is there.
compile_files() {
    mkdir -p "$work/files"
    if [ -z "$program" ]; then
        echo "skipped: the program meshreel is not on PATH; some tests say that they are skipped"
        return
    fi
    local inputs="$root/testdata/inputs"
    "$program" compile -q --lod 3 "$inputs/c_wall_fracture_onemesh.abc" -o "$work/files/wall_lods.reel"
    "$program" compile -q --rig keep "$inputs/beam.glb" -o "$work/files/beam.reel"
    "$program" compile -q --animation all "$inputs/beam.glb" -o "$work/files/ranges.reel"
    "$program" compile -q "$inputs/g_scene_attributes.abc" -o "$work/files/scene.reel"
}

# Names the extension to the engine, as the editor does when it finds it. Godot 4.6.3 crashes if it finds one in a
# project that it has never opened, and is to end soon after, as with --import.
name_extension() {
    mkdir -p "$1/.godot"
    echo "res://addons/meshreel/meshreel.gdextension" >"$1/.godot/extension_list.cfg"
}

# Lays out a project with the library, files, and what the decoder says of them.
lay_out_project() {
    local project=$1 library folder
    cp -r tests/project "$project"
    cp -r addons "$project/addons"
    name_extension "$project"
    library=$(cargo metadata --locked --no-deps --format-version 1 |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug
    folder="$project/addons/meshreel/bin/$(rustc -vV | sed -n 's/^host: //p')"
    mkdir -p "$folder" "$project/files" "$project/sources" "$project/decoded"
    cp "$library"/*meshreel_godot.{so,dylib,dll} "$folder" 2>/dev/null || test -n "$(ls "$folder")"
    cp "$root"/testdata/golden/v0/*.reel "$root"/testdata/golden/clips/*.reel "$project/files"
    cp -r "$work/files/." "$project/files"
    cp -r "$root/testdata/conformance" "$project/conformance"
    local file frame
    while read -r file frames; do
        for frame in $frames; do
            "$library/examples/decode" "$project/files/$file.reel" "$frame" >"$project/decoded/${file}_$frame.json"
        done
    done <<'FILES'
flag_small 0 5 12 37
wall_small 0 5 12 37
snake_small 0 5 12 37
everything_zstd 0 3 7
robot_small 0 20
layers 0
FILES
    if [ -n "$program" ]; then
        "$library/examples/decode" "$project/files/beam.reel" 0 >"$project/decoded/beam_0.json"
        cp "$root/testdata/inputs/beam.glb" "$project/files/beam_scene.bin"
        cp "$root/testdata/inputs/a_flag_wind.abc" "$project/sources/flag.abc"
        cp "$root/testdata/inputs/c_wall_fracture_onemesh.abc" "$project/sources/wall.abc"
        printf '[remap]\n\nimporter="meshreel"\ntype="ReelResource"\n\n[params]\n\nlods=2\n' \
            >"$project/sources/wall.abc.import"
        sed -i.bak "s|^watch_files=2|&\nprogram=\"$program\"|" "$project/project.godot"
    fi
}

# Runs the tests in the engine; fails unless the engine ends by itself, and says that none failed.
run_project() {
    local log="$work/engine.log"
    timeout 600 "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
    grep -E '^(ok|skipped|FAILED): |passed, ' "$log" || { cat "$log"; return 1; }
    ! grep -E 'panicked|SCRIPT ERROR|handle_crash' "$log"
    grep -q ' 0 failed' "$log"
}

# Compares what the engine held of the conformance set in the last run with the numbers of the sources.
compare_shown() {
    local shown="$work/project/conformance/shown.json"
    if command -v python3 >/dev/null; then
        python3 "$root/tools/conformance/check.py" "$shown"
    else
        echo "skipped: python3 is not on PATH; what is shown of the conformance set is not compared"
    fi
    rm "$shown"
}

step formatting
cargo fmt --check
step lints
cargo clippy --locked --all-targets -- -D warnings
step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
step "tests without the engine"
compile_files
MESHREEL_TEST_FILES="$work/files" cargo test --locked
step "the engine"
if ! command -v godot >/dev/null; then
    echo "skipped: godot is not on PATH"
    step done
    exit 0
fi
godot --headless --version
cargo build --locked --examples --lib
lay_out_project "$work/project"
# The editor imports sources.
timeout 600 godot --headless --path "$work/project" --import >"$work/import.log" 2>&1 ||
    { cat "$work/import.log"; exit 1; }
step "the editor: a preview"
run_project godot --headless --path "$work/project" --editor res://preview.tscn
step "the editor: an export"
timeout 600 godot --headless --path "$work/project" --export-pack Linux "$work/game.pck" >"$work/export.log" 2>&1 ||
    { cat "$work/export.log"; exit 1; }
cp -r tests/exported "$work/exported"
cp -r "$work/project/addons" "$work/exported/addons"
mv "$work/game.pck" "$work/exported/game.pck"
name_extension "$work/exported"
run_project godot --headless --path "$work/exported"
step "the engine without a display"
run_project godot --headless --path "$work/project"
compare_shown
step "the engine with a display"
with_display=(godot --audio-driver Dummy --rendering-method gl_compatibility --path "$work/project")
if [ -n "${DISPLAY:-}" ]; then
    run_project "${with_display[@]}"
    compare_shown
elif command -v xvfb-run >/dev/null; then
    run_project xvfb-run -a "${with_display[@]}"
    compare_shown
else
    echo "skipped: there is neither DISPLAY nor xvfb-run"
fi
step done
