#!/bin/sh
# Few positives: train for the error rate, for F1 and for the ROC area, and compare what each is worth on TEST.
# usage: unbalanced.sh [TRAIN] [TEST]; writes unbalanced.LOSS.model and unbalanced.LOSS.json to the current folder
set -eu
train=${1:-data/unbalanced.train}
test=${2:-data/unbalanced.test}
# $2 is C in the unit of svm_perf; each loss has its own. A model for the ROC area orders the examples well; its zero is
# no threshold, so its error rate and F1 mean nothing.
compare() {
    svmcut learn -v 0 -l "$1" -c "$2" "$train" "unbalanced.$1.model"
    svmcut classify -v 0 --report "unbalanced.$1.json" "$test" "unbalanced.$1.model" /dev/null >/dev/null
    for measure in error_rate f1 roc_area; do
        value=$(sed -n "s/^ *\"$measure\": \\([0-9.eE+-]*\\),*\$/\\1/p" "unbalanced.$1.json")
        printf '%-12s %-10s %6.2f %%\n' "$1" "$measure" "$value"
    done
}
compare error-rate 150
compare f1 1000
compare roc-area 10
