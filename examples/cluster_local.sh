#!/bin/sh
# Train on two workers that are started here and end with the run; the model has the bytes of any other number of them.
# needs: pip install '.[dask]'; run from the project: examples/cluster_local.sh
set -eu
train=${1:-data/text.train}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
split -n l/4 -d "$train" "$parts/part-"
svmcut learn -v 0 --scheduler local:2 --report cluster.json "$parts/part-*" cluster.model
svmcut classify -v 0 "${2:-data/text.test}" cluster.model cluster.scores
