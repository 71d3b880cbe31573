#!/bin/sh
# A script written for svm_perf, unchanged: with svmcut's executables first on PATH it runs as before.
# usage: drop_in.sh [TRAIN] [TEST]; writes perf.model and perf.predictions to the current folder
set -eu
train=${1:-data/breast_cancer.train}
test=${2:-data/breast_cancer.test}
svm_perf_learn -c 20 -w 3 --b 1 "$train" perf.model >perf.log
grep 'Value of slack variable' perf.log
svm_perf_classify "$test" perf.model perf.predictions | grep -E 'Accuracy|F1|ROCArea'
awk '$1 > 0 { positive++ } END { print positive + 0, "of", NR, "are predicted positive" }' perf.predictions
