#!/usr/bin/env bash
# Packs a folder beside itself, with a checksum: FOLDER.tar.gz, or FOLDER.zip for a Windows target.
#   tools/release/pack.sh FOLDER
set -euo pipefail
cd "$(dirname "$1")"
name=$(basename "$1")
case $name in
*windows*)
    archive=$name.zip
    rm -f "$archive"
    # Windows runners have 7z and no zip.
    if command -v zip > /dev/null; then zip -qr "$archive" "$name"; else 7z a -bso0 "$archive" "$name"; fi
    ;;
*)
    archive=$name.tar.gz
    tar -czf "$archive" "$name"
    ;;
esac
sum=(sha256sum)
if ! command -v sha256sum > /dev/null; then sum=(shasum -a 256); fi
"${sum[@]}" "$archive" > "$archive.sha256"
cat "$archive.sha256"
