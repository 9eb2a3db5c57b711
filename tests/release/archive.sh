#!/usr/bin/env bash
# The archive of the program, as somebody has it who downloads it: the checksum is right, licences and pages
# are there, and the demo runs in a home of its own, without Rust.
#   tests/release/archive.sh ARCHIVE      without its ending: .tar.gz, or .zip of Windows
# IMAGE: a container image of an old or small system (debian:11, alpine) that runs it once more, by Docker.
set -euo pipefail
folder=$(cd "$(dirname "$1")" && pwd)
archive=$folder/$(basename "$1")
case $archive in *windows*) archive=$archive.zip ;; *) archive=$archive.tar.gz ;; esac
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

cd "$folder"
sum=(sha256sum)
if ! command -v sha256sum > /dev/null; then sum=(shasum -a 256); fi
"${sum[@]}" -c "$archive.sha256"
cd "$made"
case $archive in
*.zip) unzip -q "$archive" ;;
*) tar -xzf "$archive" ;;
esac
name=$(ls)
program=$made/$name
for file in LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md completions/meshreel.bash man1/meshreel.1; do
    test -s "$program/$file" || { echo "$archive: no $file" >&2 && exit 1; }
done
for file in "$program"/meshreel "$program"/meshreel.exe; do
    if [ -f "$file" ] && grep -qF "${CARGO_HOME:-$HOME/.cargo}/registry" "$file"; then
        echo "$file names folders of the machine that built it" >&2 && exit 1
    fi
done
mkdir home
cd home
# Windows finds its libraries by SYSTEMROOT.
env -i HOME="$made/home" PATH="$program:/usr/bin:/bin" ${SYSTEMROOT:+SYSTEMROOT="$SYSTEMROOT"} \
    meshreel demo --quiet
ls demo
if [ -n "${IMAGE:-}" ]; then
    docker run --rm --network none -v "$program:/program:ro" -w /tmp "$IMAGE" /program/meshreel demo --quiet
    echo "runs in $IMAGE"
fi
