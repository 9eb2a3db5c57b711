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
find_seeds pc2 '*.pc2' testdata "$corpus"
find_seeds mdd '*.mdd' testdata "$corpus"
find_seeds container '*.reel' testdata
find_seeds whole_file '*.reel' testdata

# What a regression was found with goes to the target that its folder is named after.
if [ -d testdata/regressions ]; then
    for folder in testdata/regressions/*/; do
        [ -d "$folder" ] && find_seeds "$(basename "$folder")" '*' "$folder"
    done
fi
