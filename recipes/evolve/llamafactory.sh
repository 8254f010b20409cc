#!/bin/sh
# The trainer of `learn evolve` with LLaMA-Factory: llamafactory.sh DATA BASE MODEL SEED [KEY=VALUE ...]
# $PYTHON is the Python of this project; it is `python` if it is not set.
set -eu
data=$1 base=$2 model=$3 seed=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python}" -m recipes.evolve.convert llamafactory "$data" "$work"
llamafactory-cli train recipes/sft/llamafactory.yaml dataset_dir="$work" dataset=skillweave_train eval_dataset=null \
  eval_strategy=no save_strategy=no model_name_or_path="$base" output_dir="$model" seed="$seed" "$@"
