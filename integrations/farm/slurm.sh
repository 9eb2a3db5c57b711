#!/usr/bin/env bash
# One cache in parts on Slurm: a job that plans, an array of parts, a job that joins.
#   slurm.sh PARTS OUT.reel IN... [-- OPTIONS OF COMPILE]
# SBATCH_… variables say partition, account and the like (man sbatch). MESHREEL: the program.
# A part that failed: `sbatch --array=NUMBER` of the same command, or the whole again, which leaves finished parts alone.
set -euo pipefail
if [ $# -lt 3 ]; then
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
parts=$1 output=$2
shift 2
inputs=() options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do inputs+=("$1") && shift; done
if [ $# -gt 0 ]; then options=("${@:2}"); fi
program=${MESHREEL:-meshreel}
folder=$output.farm
mkdir -p "$folder"

words() { printf '%q ' "$@"; }
submit() { sbatch --parsable --output="$folder/%x-%A-%a.log" "$@"; }

plan=$(submit --job-name=plan \
    --wrap="$(words "$program" plan "${inputs[@]}" -o "$folder/plan" ${options[@]+"${options[@]}"} --quiet)")
made=$(submit --job-name=part --dependency="afterok:$plan" --array="1-$parts" \
    --wrap="$(words "$program" part "$folder/plan") \$SLURM_ARRAY_TASK_ID/$parts -o $(printf %q "$folder")/\$SLURM_ARRAY_TASK_ID.part --quiet")
source=(--source "${inputs[@]}")
for at in "${!options[@]}"; do
    case ${options[$at]} in
    --points) source+=(--points "${options[$((at + 1))]}") ;;
    esac
done
case " ${options[*]-} " in *" --no-verify "*) source=() ;; esac
all=()
for ((number = 1; number <= parts; number++)); do all+=("$folder/$number.part"); done
submit --job-name=join --dependency="afterok:$made" \
    --wrap="$(words "$program" join "${all[@]}" ${source[@]+"${source[@]}"} -o "$output" --quiet) && rm -r $(printf %q "$folder")"
