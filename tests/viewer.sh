#!/usr/bin/env bash
# Drives the viewer without a display: a window under Xvfb, in which a file is opened, scrubbed, looked at in other ways and
# picked, files are dropped, a compile is cancelled, a clip is taken apart, and pictures without a window. Needs xvfb,
# xdotool, imagemagick and python3 beside a Vulkan driver; files are dropped where python3-xlib is there. tests/viewer_methods.sh compares pictures.
#   VIEWER=PROGRAM tests/viewer.sh     a viewer that is built already
#   SHOTS=FOLDER tests/viewer.sh       keeps what was seen
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in xvfb-run xdotool import compare python3; do
    command -v "$tool" >/dev/null ||
        { echo "$tool is missing: install xvfb, xdotool, imagemagick and python3 (Debian, Ubuntu)" >&2; exit 1; }
done
if [ -z "${VIEWER:-}" ]; then
    cargo build --locked --release --manifest-path tools/viewer/Cargo.toml
    VIEWER=${CARGO_TARGET_DIR:-tools/viewer/target}/release/meshreel-view
fi
if [ -z "${DISPLAY:-}" ] || [ -z "${UNDER_XVFB:-}" ]; then
    UNDER_XVFB=1 VIEWER=$VIEWER exec xvfb-run -a -s "-screen 0 1280x800x24 -noreset" bash "$0"
fi

export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
shots=${SHOTS:-$(mktemp -d)}
mkdir -p "$shots"
golden=testdata/golden/v0
fail() {
    echo "failed: $1 (pictures in $shots)" >&2
    exit 1
}
# differs A B PIXELS: whether more than so many pixels are not the same; times that are shown make a few hundred.
differs() { [ "$(compare -metric AE "$shots/$1.png" "$shots/$2.png" null: 2>&1 | cut -d. -f1 | cut -d' ' -f1)" -gt "$3" ]; }
shot() {
    sleep 0.8
    import -window root "$shots/$1.png"
}

echo "-- pictures without a window"
"$VIEWER" "$golden/wall_fast.reel" --screenshot "$shots/wall.png" --frame 20 --size 640x400
"$VIEWER" "$golden/wall_fast.reel" --screenshot "$shots/wall_later.png" --frame 35.5 --size 640x400
"$VIEWER" "$golden/wall_fast.reel" --screenshot "$shots/wall_parts.png" --frame 20 --look parts --size 640x400
"$VIEWER" "$golden/snake_small.reel" --screenshot "$shots/snake.png" --frames 0:2 --size 640x400
differs wall wall_later 500 || fail "time does not move a picture"
differs wall wall_parts 500 || fail "a look changes nothing"
[ -s "$shots/snake.0002.png" ] || fail "no numbered pictures"
worst=$("$VIEWER" "$golden/flag_fast.reel" --source testdata/inputs/a_flag_wind.abc --screenshot "$shots/error.png" \
    --frame 9 --look error --json | sed 's/.*"of_tolerance":\([0-9.]*\).*/\1/')
awk -v w="$worst" 'BEGIN { exit !(w > 0 && w <= 1) }' || fail "the largest error is $worst of the tolerance"
code=0
"$VIEWER" "$golden/wall_fast.reel" --screenshot "$shots/no.png" --frame 1000 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a frame that is not there gives the exit code $code"
if "$VIEWER" "$shots/wall.png" --screenshot "$shots/no.png" 2>"$shots/no.txt"; then fail "a picture was opened"; fi
[ "$(wc -l <"$shots/no.txt")" = 1 ] || fail "an error is not one line: $(cat "$shots/no.txt")"

clip=testdata/golden/clips/layers.reel
"$VIEWER" "$clip" --screenshot "$shots/clip.png" --frame 40 --size 640x400
"$VIEWER" "$clip" --screenshot "$shots/clip_rest.png" --frame 40 --size 640x400 --tiers 0,0
"$VIEWER" "$clip" --screenshot "$shots/clip_run.png" --frame 40 --size 640x400 --clip run
differs clip clip_rest 100 || fail "layers that are not played change nothing"
differs clip clip_run 100 || fail "another clip is the same"
code=0
"$VIEWER" "$clip" --screenshot "$shots/no.png" --joint nobody 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a joint that is not there gives the exit code $code"
code=0
WGPU_BACKEND=vulkan VK_DRIVER_FILES=/none VK_ICD_FILENAMES=/none "$VIEWER" "$clip" --screenshot "$shots/no.png" \
    2>"$shots/no.txt" || code=$?
[ "$code" = 1 ] && grep -q "install" "$shots/no.txt" && [ "$(wc -l <"$shots/no.txt")" = 1 ] ||
    fail "without an adapter it says: $(cat "$shots/no.txt")"

echo "-- light, contact shading, smooth edges"
# A floor and a wall behind it, and the wall alone.
corners="v -2 0 0
v 2 0 0
v 2 3 0
v -2 3 0"
printf '%s\nv 2 0 3\nv -2 0 3\nf 1 2 3 4\nf 6 5 2 1\n' "$corners" >"$shots/crease.obj"
printf '%s\nf 1 2 3 4\n' "$corners" >"$shots/flat.obj"
# middle NAME: green of the pixel in the middle, 0 to 255.
middle() { convert "$shots/$1.png" -format '%[fx:int(255*u.p{w/2,h/2}.g+0.5)]' info:; }
for switch in on off; do
    look() { "$VIEWER" "$shots/$1.obj" --screenshot "$shots/$2.png" --no-grid --eye=3,3,8 --target="$3" --size 640x400 "${@:4}"; }
    look crease "crease_$switch" 0.5,0,0 --contact $switch
    look crease "crease_wall_$switch" 0.5,2,0 --contact $switch
    look flat "flat_$switch" 0.5,1,0 --contact $switch
    look crease "crease_meshes_$switch" 0.5,0,0 --contact $switch --look meshes
done
[ $((100 * $(middle crease_on))) -lt $((90 * $(middle crease_off))) ] ||
    fail "contact shading makes $(middle crease_on) of $(middle crease_off) in a crease"
[ "$(middle crease_wall_on)" = "$(middle crease_wall_off)" ] || fail "contact shading darkens a wall away from the crease"
[ "$(compare -metric AE -fuzz 1.5% "$shots/flat_on.png" "$shots/flat_off.png" null: 2>&1 | cut -d' ' -f1)" = 0 ] ||
    fail "contact shading changes a flat wall"
differs crease_meshes_on crease_meshes_off 0 && fail "contact shading changes colours that mean something"
# Pixels between the two colours of a picture: its edges.
for picture in flat_on flat_off; do
    between=$(convert "$shots/$picture.png" -colorspace Gray -depth 8 gray:- | python3 -c '
import collections, sys
pixels = sys.stdin.buffer.read()
common = sorted(value for value, _ in collections.Counter(value // 8 for value in pixels).most_common(2))
print(sum(8 * common[0] + 20 < value < 8 * common[1] - 12 for value in pixels))')
    [ "$between" -gt 300 ] || fail "edges of $picture have $between pixels between dark and light"
done

echo "-- a camera that follows"
# A figure of three joints that walks 300 units to the right.
{
    printf 'HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n'
    printf 'JOINT chest\n{\nOFFSET 0 5 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n'
    printf 'JOINT head\n{\nOFFSET 0 5 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 3 0\n}\n}\n}\n}\n'
    printf 'MOTION\nFrames: 61\nFrame Time: 0.04\n'
    for frame in $(seq 0 60); do echo "$((5 * frame)) 10 0 0 0 0 0 $((frame % 20)) 0 0 0 0"; done
} >"$shots/walk.bvh"
# covered NAME [CROP]: pixels that are not background.
covered() {
    convert "$shots/$1.png" ${2:+-crop "$2" +repage} -fill black -fuzz 3% -opaque 'rgb(29,32,36)' -threshold 0 \
        -format '%[fx:int(mean*w*h+0.5)]' info:
}
walk() { "$VIEWER" "$shots/walk.bvh" --screenshot "$shots/$1.png" --no-grid --eye=0,16,60 --target=0,16,0 --size 640x400 "${@:2}"; }
walk walk_start --frame 0
walk walk_stays --frame 50
walk walk_follows --frame 50 --follow
walk walk_range --frames 49:50 --follow
walk walk_head --frame 50 --follow --joint head
[ "$(covered walk_start)" -gt 300 ] || fail "the figure is not in the first picture"
[ "$(covered walk_stays)" = 0 ] || fail "the figure does not walk away"
[ "$(covered walk_follows)" -gt 300 ] || fail "the camera does not follow"
[ "$(covered walk_head)" -gt 300 ] || fail "the camera does not follow a joint"
differs walk_follows walk_range.0050 0 && fail "a frame depends on those before it"

echo "-- a window"
window=
trap 'kill $window 2>/dev/null || true' EXIT
# begin ARGUMENTS: opens a window, once those before it are gone.
begin() {
    if [ -n "$window" ]; then
        kill $window 2>/dev/null || true
        wait $window 2>/dev/null || true
    fi
    "$VIEWER" "$@" 2>"$shots/window.txt" &
    window=$!
    local seen=
    for _ in $(seq 150); do
        id=$(xdotool search --onlyvisible --name '^meshreel$' 2>/dev/null | head -1 || true)
        # A window that is not drawn yet takes no keys.
        if [ -n "$id" ] && xdotool windowfocus "$id" mousemove 640 400 2>/dev/null; then
            seen=1
            break
        fi
        sleep 0.2
    done
    [ -n "$seen" ] || fail "no window: $(cat "$shots/window.txt")"
    sleep 2
}
alive() { kill -0 $window 2>/dev/null || fail "the window is gone: $(cat "$shots/window.txt")"; }
begin "$golden/flag_small.reel" "$golden/wall_fast.reel"
xdotool key space key Home
shot start
shot start_again
differs start start_again 1000 && fail "a paused window changes"
for _ in 1 2 3 4 5 6 7 8; do xdotool key Right; done
shot scrubbed
differs start scrubbed 300 || fail "keys do not scrub"
# Clock ticks of the window's processor time: fields 14 and 15, counted from behind the name.
ticks() { sed 's/.*) //' "/proc/$window/stat" | awk '{ print $12 + $13 }'; }
if [ -r "/proc/$window/stat" ]; then
    before=$(ticks)
    sleep 2
    [ $(($(ticks) - before)) -le 4 ] || fail "an idle window takes $(($(ticks) - before)) ticks in two seconds"
fi
xdotool key 2
shot normals
differs scrubbed normals 2000 || fail "keys do not change the look"
xdotool key w
shot wire
differs normals wire 500 || fail "no edges"
xdotool key 1
xdotool key w
sleep 0.4
for x in 700 760 820; do xdotool mousemove "$x" 410; [ "$x" = 700 ] && xdotool mousedown 1; sleep 0.2; done
xdotool mouseup 1
shot turned
differs scrubbed turned 2000 || fail "the mouse does not turn it"
xdotool key space
sleep 0.5
shot plays
differs turned plays 300 || fail "it does not play"
# A player that streams it, in the panel at the right of a window of 1280 × 800.
xdotool mousemove 1200 38 click 1
shot decoded
xdotool mousemove 1130 60 click 1
sleep 1
shot streamed
differs decoded streamed 1000 || fail "no player streams"
alive

echo "-- a file that is replaced on the disk"
cp "$golden/flag_small.reel" "$shots/changes.reel"
begin "$shots/changes.reel"
xdotool key space key Home
for _ in 1 2 3 4 5; do xdotool key Right; done
shot before_replaced
cp "$golden/wall_fast.reel" "$shots/next.reel" && mv "$shots/next.reel" "$shots/changes.reel"
sleep 3
shot replaced
differs before_replaced replaced 3000 || fail "the newer file is not shown"
head -c 1000 "$golden/flag_small.reel" >"$shots/next.reel" && mv "$shots/next.reel" "$shots/changes.reel"
sleep 3
alive
cp "$golden/flag_small.reel" "$shots/next.reel" && mv "$shots/next.reel" "$shots/changes.reel"
sleep 3
shot replaced_again
differs before_replaced replaced_again 12000 && fail "the moment is not that of the older file"

echo "-- its size, what is dropped on it"
begin "$golden/flag_small.reel"
xdotool key space key Home
shot large
xdotool windowsize "$id" 760 500
shot small
xdotool windowsize "$id" 1280 800
shot large_again
differs large small 5000 || fail "another size of the window is the same"
differs large large_again 2500 && fail "its first size does not look as before"
alive
head -c 5000 "$golden/wall_fast.reel" >"$shots/broken.reel"
python=
for one in python3 /usr/bin/python3; do
    [ -z "$python" ] && "$one" -c "import Xlib" 2>/dev/null && python=$one
done
if [ -n "$python" ]; then
    "$python" tests/drop_files.py "$id" 640 400 "$golden/wall_fast.reel" "$golden/snake_small.reel"
    sleep 1
    shot dropped
    differs large_again dropped 2000 || fail "dropped files are not shown"
    "$python" tests/drop_files.py "$id" 640 400 "$shots/broken.reel"
    sleep 1
    shot broken
    alive
else
    echo "python3-xlib is missing: nothing is dropped"
fi

echo "-- a file that is broken, from the start"
begin "$shots/broken.reel"
shot broken_first
alive

echo "-- a clip"
begin "$clip" --joint arm
xdotool key space key Home
shot curves
xdotool key n
shot names
differs curves names 100 || fail "no names of joints"
xdotool key b
shot no_bones
differs names no_bones 300 || fail "bones are always there"
xdotool key b key Escape
shot no_curves
differs names no_curves 5000 || fail "curves do not go away"
alive
begin "$clip" --joint arm --tiers 1,0
xdotool key space key Home
shot one_tier
differs curves one_tier 500 || fail "tiers that are not there change nothing"
alive

begin "$shots/walk.bvh" --no-grid --eye=0,16,60 --target=0,16,0
scene=400x300+450+250
xdotool key space key Home
shot walk_window
[ "$(covered walk_window $scene)" -gt 100 ] || fail "the figure is not in the window"
xdotool key End
shot walk_window_stays
[ "$(covered walk_window_stays $scene)" = 0 ] || fail "the figure does not walk out of the window"
# The camera glides there and rests.
xdotool key t
sleep 1
shot walk_window_follows
[ "$(covered walk_window_follows $scene)" -gt 100 ] || fail "the key does not bring the figure back"
xdotool key Home
sleep 1
shot walk_window_start
[ "$(covered walk_window_start $scene)" -gt 100 ] || fail "the camera does not follow in the window"
for _ in 1 2 3 4 5; do
    rests=
    shot walk_window_rests
    differs walk_window_start walk_window_rests 0 || { rests=1 && break; }
    cp "$shots/walk_window_rests.png" "$shots/walk_window_start.png"
done
[ -n "$rests" ] || fail "the camera does not come to rest"
xdotool key t key End
shot walk_window_free
[ "$(covered walk_window_free $scene)" = 0 ] || fail "the camera follows when it should not"
alive
begin "$golden/wall_fast.reel" --contact on
xdotool key space key Home
shot contact
xdotool key c
shot no_contact
differs contact no_contact 300 || fail "the key changes no shading"
alive

echo "-- a compile that nobody wants"
# A sheet of 250 × 250 points over 100 frames, which takes a while.
big=$shots/big
"${python:-python3}" - "$big" <<'SHEET'
import array, math, struct, sys
side, frames = 250, 100
with open(sys.argv[1] + ".obj", "w") as out:
    for y in range(side):
        out.writelines(f"v {x} 0 {y}\n" for x in range(side))
    for y in range(1, side):
        for x in range(1, side):
            a = (y - 1) * side + x
            out.write(f"f {a} {a + side} {a + side + 1} {a + 1}\n")
with open(sys.argv[1] + ".pc2", "wb") as out:
    out.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, side * side, 0.0, 1.0, frames))
    for frame in range(frames):
        rows = [6.0 * math.sin(0.1 * i + 0.2 * frame) for i in range(side)]
        points = array.array("f")
        for y in range(side):
            for x in range(side):
                points.extend((x, rows[x] + rows[y], y))
        points.tofile(out)
SHEET
export TMPDIR=$shots/compiles
mkdir -p "$TMPDIR"
compiles() { [ -n "$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -type d)" ]; }
# gone WHAT: within some seconds nothing is left of what is compiled.
gone() {
    for _ in $(seq 50); do
        compiles || return 0
        sleep 0.1
    done
    fail "$1 leaves $(ls -A "$TMPDIR")"
}
begin "$big.obj"
shot compiling
compiles || fail "nothing is compiled any more: the sheet is too small"
# The button below the bar in the middle.
xdotool mousemove 562 437 click 1
gone "a compile that is cancelled"
shot cancelled
differs compiling cancelled 1000 || fail "the bar stays"
alive
begin "$big.obj"
compiles || fail "nothing is compiled"
if [ -n "$python" ]; then
    "$python" tests/drop_files.py "$id" 640 400 "$golden/wall_fast.reel"
    gone "a file that is opened instead"
    shot instead
    differs compiling instead 2000 || fail "the other file is not shown"
    begin "$big.obj"
    compiles || fail "nothing is compiled"
    "$python" tests/close_window.py "$id"
    for _ in $(seq 50); do kill -0 $window 2>/dev/null || break; sleep 0.1; done
    kill -0 $window 2>/dev/null && fail "a window that is closed while it compiles stays"
    compiles && fail "a window that is closed leaves $(ls -A "$TMPDIR")"
    window=
fi
unset TMPDIR

echo "-- what takes the bytes, and the source beside it"
begin "$golden/wall_fast.reel" --panel bytes
shot bytes_of_reel
alive
begin testdata/inputs/d_snake_skinned.abc --panel bytes
shot bytes
alive
begin testdata/inputs/a_flag_wind.abc --look error
shot error_window
alive
echo "all of it works"
