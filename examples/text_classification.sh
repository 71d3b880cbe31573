#!/bin/sh
# Train a text classifier, score unseen documents and print a report.
# usage: text_classification.sh [TRAIN] [TEST]; writes text.model, text.scores and text.json to the current folder
set -eu
train=${1:-data/text.train}
test=${2:-data/text.test}
svmcut learn --example-cost 1 --gap 0.001 "$train" text.model
svmcut classify --report text.json "$test" text.model text.scores
