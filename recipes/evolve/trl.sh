#!/bin/sh
# The trainer of `learn evolve` with TRL: trl.sh DATA BASE MODEL SEED [OPTIONS OF recipes/sft/train.py]
# $PYTHON is the Python of this project, $TRAINER_PYTHON one that has TRL; both are `python` if they are not set.
set -eu
data=$1 base=$2 model=$3 seed=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python}" -m recipes.evolve.convert trl "$data" "$work"
"${TRAINER_PYTHON:-python}" recipes/sft/train.py --data "$work" --model "$base" --to "$model" --seed "$seed" "$@"
