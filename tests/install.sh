#!/usr/bin/env bash
# The lines of the README's table "Getting it", as they are written there, each in a home of its own; then the
# first thing that a user does with what was installed. Prints the minutes of each.
#   tests/install.sh            all places
#   tests/install.sh PLACE…     program, rust, c, python, web, blender, viewer
# Rust and its cache of packages are those of this machine. Needs what the lines need: a C and C++ compiler,
# Python 3.11 with venv, Node and npm, a Vulkan driver for the viewer, and the registries of packages. What is
# missing is said, and the place counts as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
reel=$root/testdata/golden/v0/flag_small.reel
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
places=${*:-program rust c python web blender viewer}
done=() skipped=()
for place in $places; do
    case $place in
    program | rust | c | python | web | blender | viewer) ;;
    *) echo "$place: no such place; there are program, rust, c, python, web, blender and viewer" >&2 && exit 2 ;;
    esac
done

export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_HOME=${CARGO_HOME:-$HOME/.cargo}
# `cargo install` puts programs into the new home.
export HOME=$made/user CARGO_INSTALL_ROOT=$made/user/.cargo
mkdir -p "$HOME"
path=$CARGO_HOME/bin:/usr/local/bin:/usr/bin:/bin

# `line WORDS`: the command of the row of the table whose first cell begins with these words.
line() {
    local found
    found=$(awk -F' *[|] *' -v words="$1" 'index($2, words) == 1 { print $3 }' README.md | sed 's/^`\(.*\)`$/\1/')
    if [ -z "$found" ]; then echo "README.md has no row that begins with '$1'" >&2 && exit 1; fi
    echo "$found"
}

# `run COMMAND`: in a new shell, with nothing on PATH but the system, Rust and `$1` places before them.
run() {
    printf '   $ %s\n' "$1"
    env PATH="${2:+$2:}$path" bash -euo pipefail -c "$1"
}

has() {
    if command -v "$1" > /dev/null; then return 0; fi
    echo "skipped: $place: $1 is missing" >&2
    skipped+=("$place")
    return 1
}

place_program() {
    run "$(line 'the program')"
    run "cd '$made' && meshreel demo --quiet && ls demo/overview.png" "$HOME/.cargo/bin"
}

place_rust() {
    mkdir "$made/game"
    run "cd '$made/game' && cargo init --quiet --name game && $(line Rust | sed "s|…|$root|")"
    # The listing of the README, with a file that is there, until it shows a frame.
    {
        echo 'use meshreel::{Command, Options, Player, Repeat};'
        echo 'fn main() -> Result<(), meshreel::Error> {'
        awk '/^```rust/ { on = 1; next } /^```/ { on = 0 } on' README.md | sed "s|cloth.reel|$reel|" | awk '
            /^player.tick/ { print "loop {" }
            { print }
            /let view/ { print "println!(\"{:?}\", shown.pair()); drop(view); return Ok(());" }'
        echo 'std::thread::sleep(std::time::Duration::from_millis(5)); } }'
    } > "$made/game/src/main.rs"
    run "cd '$made/game' && cargo run --quiet"
}

place_c() {
    has cmake || return 0
    run "$(line '[C, C++' | sed "s| out\$| '$made/library'|")"
    run "cd '$made/library' && tar -xzf meshreel-c-*.tar.gz && cd meshreel-c-*/ &&
        cmake -S examples -B build -DCMAKE_PREFIX_PATH=\"\$PWD\" > /dev/null && cmake --build build > /dev/null && ls build"
}

place_python() {
    python3 -m venv "$made/python"
    run "$(line '[Python]')" "$made/python/bin"
    run "cd '$made' && python -c 'import meshreel; print(meshreel.open(\"$reel\"))' && meshreel info '$reel' --quiet" \
        "$made/python/bin"
}

place_web() {
    has npm || return 0
    run "$(line '[Web pages]')"
    run "tests/release/npm.sh bindings/web/meshreel-*.tgz"
}

place_blender() {
    python3 -m venv "$made/blender"
    run "$(line '[Blender]')" "$made/blender/bin"
    run "ls dist/meshreel-blender-*.zip"
}

place_viewer() {
    run "$(line 'the viewer' | sed "s|FILES|'$reel' --screenshot '$made/shot.png' --frame 20|")"
    run "ls '$made/shot.png'"
}

for place in $places; do
    printf '\n== %s\n' "$place"
    start=$SECONDS
    "place_$place"
    done+=("$(printf '%-8s %5.1f min' "$place" "$(echo "($SECONDS - $start) / 60" | bc -l)")")
done
printf '\n'
printf '%s\n' "${done[@]}"
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
