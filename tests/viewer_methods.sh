#!/usr/bin/env bash
# A frame of each method twice: drawn by the viewer on the graphics card, and by `meshreel plot --frame`, which decodes
# and draws on the processor, with the same camera. What they cover must be the same; a sheet shows them side by side.
#   MESHREEL=PROGRAM VIEWER=PROGRAM tests/viewer_methods.sh     programs that are built already
#   SHOTS=FOLDER tests/viewer_methods.sh                        keeps the pictures; the sheet is methods.png
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${MESHREEL:-}" ]; then
    cargo build --locked --release -p meshreel-cli
    MESHREEL=${CARGO_TARGET_DIR:-target}/release/meshreel
fi
if [ -z "${VIEWER:-}" ]; then
    cargo build --locked --release --manifest-path tools/viewer/Cargo.toml
    VIEWER=${CARGO_TARGET_DIR:-tools/viewer/target}/release/meshreel-view
fi
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
shots=${SHOTS:-$(mktemp -d)}
mkdir -p "$shots"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
inputs=testdata/inputs
size=480x360

# A field of heights, which no bundled file is.
for frame in 1 2 3 4 5 6 7 8; do
    awk -v t="$frame" 'BEGIN {
        n = 40
        for (z = 0; z < n; z++) for (x = 0; x < n; x++)
            printf "v %.5f %.5f %.5f\n", x / 10, 0.25 * sin(x / 4 + t) * cos(z / 5 - t / 2), z / 10
        for (z = 1; z < n; z++) for (x = 1; x < n; x++) {
            a = (z - 1) * n + x
            printf "f %d %d %d %d\n", a, a + n, a + n + 1, a + 1
        }
    }' >"$work/heights.000$frame.obj"
done

# Name, frame, what the report says of it, and the compiler's arguments.
failed=0
sheet=()
while IFS='|' read -r name frame says arguments; do
    # shellcheck disable=SC2086
    said=$("$MESHREEL" compile --explain --effort 3 $arguments -o "$work/$name.reel" 2>&1) ||
        { echo "failed: $name: $said" >&2; exit 1; }
    grep -q "$says" <<<"$said" || { echo "failed: $name is not \"$says\": $said" >&2; exit 1; }
    plotted=$("$MESHREEL" plot "$work/$name.reel" --frame "$frame" --size $size -o "$shots/$name.plot.png" --json)
    list() { sed "s/.*\"$1\":\[\([^]]*\)\].*/\1/" <<<"$plotted"; }
    angle=$(sed 's/.*"angle":\([0-9.]*\).*/\1/' <<<"$plotted")
    "$VIEWER" "$work/$name.reel" --screenshot "$shots/$name.view.png" --frame "$frame" --size $size --no-grid \
        --eye="$(list eye)" --target="$(list target)" --angle "$angle"
    # The picture's left column is nothing but background; what is not as it is in a row is covered.
    for kind in plot view; do
        convert "$shots/$name.$kind.png" \( +clone -crop 1x+0+0 +repage -scale "$size!" \) -compose difference -composite \
            -separate -evaluate-sequence max -threshold 1.5% "$work/$kind.png"
    done
    covered() { convert "$work/plot.png" "$work/view.png" -evaluate-sequence "$1" -format '%[fx:mean*w*h]' info:; }
    both=$(covered min)
    either=$(covered max)
    same=$(awk -v a="$both" -v b="$either" 'BEGIN { printf "%.4f", (b > 0 ? a / b : 0) }')
    covers=$(awk -v b="$either" 'BEGIN { printf "%.0f", b }')
    echo "$name: $same of $covers pixels are covered by both"
    awk -v s="$same" -v c="$covers" 'BEGIN { exit !(s >= 0.97 && c > 2000) }' ||
        { echo "failed: $name is not the same to the eye" >&2; failed=1; }
    sheet+=(-label "$name: viewer" "$shots/$name.view.png" -label "$name: plot --frame" "$shots/$name.plot.png")
done <<EOF
static|20|static|$inputs/g_scene_attributes.abc
rigid|35|rigid|$inputs/c_wall_fracture_onemesh.abc --method rigid --smooth-angle 40deg
rigid packed|35|rigid|$inputs/c_wall_fracture_onemesh.abc --method rigid --transforms packed --smooth-angle 40deg
skinned with residual|30|skinned|$inputs/d_snake_skinned.abc --method skinned
soft|30|soft|$inputs/d_snake_skinned.abc --method soft
implicit grid|30|implicit grid|$inputs/a_flag_wind.abc --method soft
height field|5|implicit grid|$work/heights.####.obj
fluid|30|fluid|$inputs/e_metaballs.abc
classic|30|soft|$inputs/a_flag_wind.abc --preset classic
classic fluid|12|fluid|$inputs/e_metaballs.abc --preset classic
fast rigid|50|rigid|$inputs/c_wall_fracture_onemesh.abc --preset fast --smooth-angle 40deg
levels of detail|10|rigid|$inputs/c_wall_fracture_onemesh.abc --lod 2 --cull-hidden --smooth-angle 40deg
EOF
# A file with levels of detail and triangles that nobody can see.
differs() { [ "$(compare -metric AE "$shots/$1.png" "$shots/$2.png" null: 2>&1 | cut -d. -f1 | cut -d' ' -f1)" -gt "$3" ]; }
levels="$work/levels of detail.reel"
for look in shaded levels hidden; do
    "$VIEWER" "$levels" --screenshot "$shots/look_$look.png" --look $look --level 2 --size $size --frame 0
done
"$VIEWER" "$levels" --screenshot "$shots/look_all.png" --size $size --frame 0
"$VIEWER" "$levels" --screenshot "$shots/look_unseen.png" --look hidden --size $size --frame 0
"$VIEWER" "$levels" --screenshot "$shots/look_seen.png" --visible --size $size --frame 0
differs look_shaded look_levels 1000 || { echo "failed: levels have no colours" >&2; failed=1; }
differs look_shaded look_all 200 || { echo "failed: levels are the same" >&2; failed=1; }
differs look_all look_unseen 1000 || { echo "failed: what nobody can see is not told" >&2; failed=1; }
if differs look_all look_seen 400; then
    echo "failed: what nobody can see is missed" >&2
    failed=1
fi
font=$(fc-match --format "%{file}" sans 2>/dev/null || true)
montage ${font:+-font "$font"} "${sheet[@]}" -tile 4x -geometry 360x270+4+4 -background '#20242a' -fill white "$shots/methods.png"
exit $failed
