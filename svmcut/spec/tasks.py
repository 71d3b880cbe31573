# SPDX-License-Identifier: BSD-3-Clause
"""The tasks, and with each the losses it trains for and the measures it reports.

A task is its row here and the file of `svmcut.tasks` that the row names. Standard library only.
"""

from __future__ import annotations

import math

from svmcut.base.typing import Any
from svmcut.spec.entries import (
    BCFW,
    BOTH_NORMS,
    BOTH_RESCALINGS,
    CLASSES,
    CUTTING_PLANE,
    DUAL_CD,
    FLOOR,
    GDMM,
    GRADES,
    LOGISTIC,
    NEWTON,
    ONE_CLASS,
    PLACES,
    PROPENSITIES,
    RANGE,
    SAMPLED_CUTS,
    SETS,
    SMO,
    SQUARED_DIFFERENCE,
    SQUARED_HINGE,
    SQUARED_TUBE,
    SUBSPACE,
    TAGS,
    TWO_CLASSES,
    Loss,
    Measure,
    Task,
)

_OF_ROWS = ("LinearModel", "KernelModel", "FourierModel")
_BASIS = ("basis_kind", "basis_method", "basis_file")
_PENALTY = ("penalty", "l1_ratio")
_AT_TOP = ("NDCG@1", "NDCG@5", "NDCG@10", "MAP")

_BOTH: dict[str, Any] = {"rescalings": BOTH_RESCALINGS, "norms": BOTH_NORMS}
_TABLE: dict[str, Any] = {
    "where": "svmcut.risks.contingency:ContingencyRisk",
    "table": True,
    **_BOTH,
}
_OWN_TABLE: dict[str, Any] = {
    "where": "svmcut.risks.contingency:TableRisk",
    "table": True,
    "shared": True,
}
_MIXED = _OWN_TABLE | {"takes": ("beta",)}
_FLOORED = _OWN_TABLE | {"takes": ("at",), "place": FLOOR, "added": True}
_ORDINAL: dict[str, Any] = {
    "where": "svmcut.risks.ordinal:OrdinalRisk",
    "shared": True,
    "is_sum": True,
    "drawn": True,
}
_SWAPPED = _ORDINAL | {
    "norms": BOTH_NORMS,
    "squared": "svmcut.risks.ordinal:SquaredOrdinalRisk",
}
_RANKING: dict[str, Any] = {
    "where": "svmcut.risks.rankings:RankingRisk",
    "shared": True,
    "is_sum": True,
    "added": True,
}
_OF_SCORES = (
    Loss(
        SQUARED_HINGE,
        where="svmcut.risks.losses:SquaredHingeRisk",
        is_sum=True,
        added=True,
    ),
    Loss(
        LOGISTIC,
        where="svmcut.risks.losses:LogisticRisk",
        is_sum=True,
        added=True,
        log_odds=True,
    ),
)

_ROWS = (
    Task(
        "classification",
        where="svmcut.tasks.classification:Classification",
        help="two classes",
        labels=TWO_CLASSES,
        loss="error-rate",
        losses=(
            Loss("zero-one", number=0, **_TABLE),
            Loss("f1", number=1, **_TABLE),
            Loss(
                "error-rate",
                number=2,
                **_TABLE | {"where": "svmcut.risks.hinge:HingeRisk"},
                is_sum=True,
                drawn=True,
            ),
            Loss("prbep", number=3, **_TABLE),
            Loss("prec-at-k", number=4, at=(0.0, 1.0, 0.5), **_TABLE),
            Loss("rec-at-k", number=5, at=(1.0, math.inf, 2.0), **_TABLE),
            Loss(
                "roc-area",
                number=10,
                where="svmcut.risks.classes:RocAreaRisk",
                norms=BOTH_NORMS,
                drawn=True,
            ),
            Loss(
                "average-precision",
                number=11,
                where="svmcut.risks.classes:AveragePrecisionRisk",
                norms=BOTH_NORMS,
            ),
            Loss("kld", number=12, epsilon=1e-4, **_OWN_TABLE),
            Loss("nkld", number=13, **_OWN_TABLE),
            Loss("gmean", number=20, **_OWN_TABLE),
            Loss("q", number=22, **_MIXED),
            Loss("qacc", number=23, **_MIXED),
            Loss("qf1", number=24, **_MIXED),
            Loss("qgm", number=25, **_MIXED),
            Loss("mae", number=26, measure="prevalence_ae", **_OWN_TABLE),
            Loss("mrae", number=27, measure="prevalence_rae", **_OWN_TABLE),
            Loss("fbeta", added=True, **_MIXED),
            Loss("balanced-error", added=True, **_OWN_TABLE),
            Loss("recall-at-precision", **_FLOORED),
            Loss("precision-at-recall", **_FLOORED),
            Loss(
                "partial-auc",
                where="svmcut.risks.classes:PartialAucRisk",
                takes=("at",),
                place=RANGE,
                added=True,
            ),
            *_OF_SCORES,
        ),
        measure="accuracy",
        measures=(
            Measure("error_rate", rises=False, heading="error"),
            Measure("accuracy", line="Accuracy ", plain="Accuracy", of_rows=True),
            Measure("precision", heading="prec", line="Precision", plain="Precision"),
            Measure(
                "recall",
                heading="recall",
                line="Recall   ",
                plain="Recall",
                none="no positive training example is recognised (recall 0)",
            ),
            Measure("f1", heading="F1", line="F1       ", plain="F1"),
            Measure("prbep", heading="PRBEP", line="PRBEP    "),
            Measure("roc_area", heading="ROC", line="ROCArea  ", plain="ROC area"),
            Measure("average_precision", heading="AP", line="AvgPrec  ", plain="Average precision"),
            Measure("balanced_error", rises=False, aimed="Balanced error"),
            Measure("gmean", aimed="Geometric mean"),
            Measure("q", aimed="Q, recall"),
            Measure("qacc", aimed="Q, accuracy"),
            Measure("qf1", aimed="Q, F1"),
            Measure("qgm", aimed="Q, geometric mean"),
            Measure("fbeta", aimed="F-beta, beta {}"),
            Measure("recall_at_precision", aimed="Recall at precision {}, any threshold"),
            Measure("precision_at_recall", aimed="Precision at recall {}, any threshold"),
            Measure("partial_auc", aimed="ROC area of false-positive rates {}"),
            Measure("kld", rises=False, digits=6, aimed="Divergence of prevalences"),
            Measure("nkld", rises=False, aimed="Normalised divergence"),
            Measure("prevalence_ae", rises=False, aimed="Error of the prevalence"),
            Measure("prevalence_rae", rises=False, aimed="Relative error"),
        ),
        models=_OF_ROWS,
        auto=(DUAL_CD, NEWTON),
        auto_kernel=(SMO, SUBSPACE),
        takes=(
            "bias",
            "positive",
            "class_weight",
            "probability",
            "initial",
            "keep_multipliers",
            "at",
            "beta",
            *_BASIS,
            *_PENALTY,
        ),
        parted=True,
        original="svm_perf",
        algorithms=(0, 1, 2, 3, 4, 9),
        objects="two classes",
        objective="1/2 w'w + C * loss in percent",
        weighs="loss, as in LIBLINEAR, LIBSVM and svm_light",
        points="percent points of the loss",
        examples="""\
svmcut learn people.csv model --label income    a table with column income
svmcut learn --example-cost 1 train.dat model   LIBLINEAR's unit of C
svmcut learn -c 20 -l f1 train.dat model        svm_perf's unit of C; best F1
svmcut learn -c 1 --gap 1e-4 --report run.json train.dat.gz model
zcat train.gz | svmcut learn -c 1 - model       from a pipe
""",
    ),
    Task(
        "rank",
        where="svmcut.tasks.ranking:Ranking",
        command="rank",
        help="the order of the rows of a query",
        labels=GRADES,
        loss="swapped-pairs",
        losses=(
            Loss("swapped-pairs", number=1, in_pairs=True, help="pairs per query", **_SWAPPED),
            Loss("swapped-fraction", number=2, help="their share per query", **_SWAPPED),
            Loss("pairs", help="share of all pairs", **_ORDINAL),
            Loss("map", help="average precision per query", **_RANKING),
            Loss("ndcg", takes=("at",), place=PLACES, help="NDCG of the first places", **_RANKING),
            Loss(
                PROPENSITIES,
                where="svmcut.risks.rankings:PropensityRisk",
                is_sum=True,
                of_clicks=True,
                added=True,
                help="ranks of clicks",
            ),
        ),
        measure="swapped_percent",
        measures=(
            Measure("swapped_pairs", rises=False, line="Total Num Swappedpairs  "),
            Measure(
                "swapped_percent",
                rises=False,
                heading="swapped",
                line="Avg Swappedpairs Percent",
                plain="Swapped pairs",
            ),
            *(Measure(name.lower(), heading=name, digits=4, plain=name) for name in _AT_TOP),
        ),
        models=_OF_ROWS,
        auto_kernel=(CUTTING_PLANE, SUBSPACE),
        lacks=("free_bias",),
        takes=(*_BASIS, "at"),
        defaults={"epsilon": 0.001},
        parted=True,
        original="svm_rank",
        algorithms=(0, 1, 2, 3, 4),
        objects="rankings",
        unit="query",
        plural="queries",
        objective="1/2 w'w + C * loss averaged over the queries",
        points="with swapped-pairs times the mean number of pairs",
        notes={
            "slack_norm": "With 2 the loss enters xi by its root; not for pairs, map, ndcg "
            "and propensities.",
            "weights": "With --propensities one per line; only those of clicks count.",
        },
        examples="""\
svmcut rank -c 20 train.dat model              svm_rank's unit of C
svmcut rank -c 1 -l swapped-fraction train.dat model
svmcut rank -c 1000 -l ndcg --at 5 train.dat model
svmcut rank -c 1 --propensities clicks.dat model         svm_proprank's files
svmcut classify test.dat model scores          swapped pairs, NDCG and MAP
""",
    ),
    Task(
        "sequence",
        where="svmcut.tasks.sequences:Tagging",
        help="tags of tokens",
        labels=TAGS,
        loss="hamming",
        losses=(
            Loss(
                "hamming",
                number=1,
                where="svmcut.risks.chain:ChainRisk",
                is_sum=True,
                drawn=True,
                help="the number of wrong tags",
                **_BOTH,
            ),
            Loss(
                "zero-one",
                number=0,
                where="svmcut.risks.chain:zero_one",
                is_sum=True,
                added=True,
                help="1 for a sequence with any wrong tag",
                **_BOTH,
            ),
        ),
        measure="token_error",
        measures=(
            Measure(
                "token_error",
                rises=False,
                heading="tokens",
                line="Average loss per token",
                plain="Token error",
            ),
            Measure("sequence_error", rises=False, heading="sequences", plain="Sequence error"),
            Measure("chunk_precision", of_chunks=True),
            Measure("chunk_recall", of_chunks=True),
            Measure("chunk_f1", heading="chunk F1", of_chunks=True),
        ),
        models=("ChainModel", "KernelChainModel"),
        plan="svmcut.training.chains:Chains",
        kernel_plan="svmcut.training.emissions:Emissions",
        auto=(BCFW, GDMM),
        auto_kernel=(CUTTING_PLANE, SAMPLED_CUTS),
        takes=("transitions", "emissions", "beam", "probability"),
        lacks=("polish", "basis", "free_bias"),
        example_cost=0.1,
        quick_cost=0.3,
        gap=0.05,
        original="svm_hmm",
        algorithms=(0, 1, 2, 3, 4),
        objects="sequences",
        unit="sequence",
        objective="1/2 w'w + C * wrong tags averaged over the sequences",
        weighs="wrong tags",
        points="wrong tags a sequence; of squared slack the mean of xi^2",
        notes={
            "slack_norm": "With 2 the loss enters xi by its root, which takes as long as -o slack.",
            "rescaling": "Time and memory of slack grow with the square of a sequence's tokens.",
            "kernel": "Emissions then are kernel functions, and the model file has svmcut's own "
            "format.",
            "solver": "No pass of gdmm costs the square of the tags. -l zero-one, -o slack and -p "
            "2 train by cutting-plane alone, which auto takes then. With a kernel auto takes "
            "sampled-cuts where four bytes for every pair of tokens, and the cuts, would not fit "
            "in 4 GB.",
        },
        reading="""\
a line is a token, TAG qid:SEQUENCE INDEX:VALUE ..., tags are integers from 1, and the lines of a
sequence stand together. Every option of svm_hmm_learn works, with the same meaning.""",
        examples="""\
svmcut learn --task sequence -c 1000 train.hmm model          svm_hmm's unit of C
svmcut learn --task sequence --example-cost 0.1 train.hmm model
svmcut learn --task sequence -c 1000 --t 2 --e 1 train.hmm model
svmcut learn --task sequence --example-cost 1 --gap 0.01 -t 2 -g 0.05 train.hmm model
svmcut classify test.hmm model tags.txt
""",
    ),
    Task(
        "regression",
        where="svmcut.tasks.single_scores:Regression",
        help="numbers",
        loss="epsilon-insensitive",
        losses=(
            Loss(
                "epsilon-insensitive",
                where="svmcut.risks.losses:EpsilonInsensitiveRisk",
                takes=("tube",),
                is_sum=True,
            ),
            Loss(
                SQUARED_TUBE,
                where="svmcut.risks.losses:SquaredEpsilonRisk",
                takes=("tube",),
                is_sum=True,
                help="its square",
            ),
        ),
        measure="mse",
        measures=(
            Measure("mse", rises=False, heading="MSE", line="Mean squared error ", digits=6),
            Measure("mae", rises=False, heading="MAE", line="Mean absolute error", digits=6),
            Measure("r2", heading="R2", line="R2                 ", digits=6),
        ),
        models=_OF_ROWS,
        marked=True,
        auto=(DUAL_CD, NEWTON),
        auto_kernel=(SMO, SUBSPACE),
        takes=("bias", "tube", "initial", "probability", *_BASIS, *_PENALTY),
        gap=1e-3,
        parted=True,
        like="LIBLINEAR and LIBSVM",
        objects="targets",
        objective="1/2 w'w + C * sum of the losses",
        weighs="loss, as in LIBLINEAR and LIBSVM",
        points="the loss of an example, summed",
        reading="LABEL is the number to predict.",
        examples="""\
svmcut learn --task regression -c 1 train.dat model            LIBLINEAR's and LIBSVM's unit of C
svmcut learn --task regression -c 1 --tube 0.5 --gap 1e-5 train.dat model
svmcut learn --task regression -c 0.1,1,10 --validate dev.dat --select mse train.dat model
svmcut learn --task regression -c 10 -t 2 -g 0.5 train.dat model                 svm-train -s 3
svmcut classify test.dat model numbers           squared and absolute error, R2
""",
    ),
    Task(
        "one-class",
        where="svmcut.tasks.single_scores:OneClass",
        help="rows unlike the training rows; labels are ignored",
        labels=ONE_CLASS,
        loss="one-class",
        losses=(
            Loss(
                "one-class",
                where="svmcut.risks.one_class:OneClassRisk",
                takes=("nu",),
                is_sum=True,
                help="how low the lowest scores are",
            ),
        ),
        measure="accuracy",
        measures=(
            Measure("outside", rises=False, heading="outside", line="Rows outside"),
            Measure("error_rate", rises=False),
            Measure("accuracy", heading="accuracy", line="Accuracy    "),
            Measure("precision", heading="prec", line="Precision   "),
            Measure("recall", heading="recall", line="Recall      "),
            Measure("f1", heading="F1", line="F1          "),
            Measure("roc_area", heading="ROC", line="ROC area    "),
        ),
        models=("LinearModel", "KernelModel"),
        marked=True,
        auto=(SMO,),
        auto_kernel=(SMO,),
        lacks=("free_bias",),
        has_cost=False,
        gap=1e-3,
        like="LIBSVM",
        objects="one class",
        objective="1/2 w'w + sum of max(0, rho - score) - nu times the examples times rho",
        weighs="loss",
        points="the loss of an example, summed",
        reading="""\
training ignores LABEL; classify counts labels above 0 as members of the class.""",
        examples="""\
svmcut learn --task one-class --nu 0.1 -t 2 -g 0.5 train.dat model      svm-train -s 2 -n 0.1
svmcut learn --task one-class --nu 0.05 train.dat model                 a half space
svmcut classify test.dat model scores          at least 0 inside; --labels writes 1 and -1
""",
    ),
    Task(
        "survival",
        where="svmcut.tasks.single_scores:Survival",
        help="times until an event, censored or not",
        loss="survival-squared-hinge",
        losses=(
            Loss(
                "survival-squared-hinge",
                where="svmcut.risks.survival:SurvivalRisk",
                shared=True,
                is_sum=True,
                help="of the margins of comparable pairs",
            ),
            Loss(
                "survival-hinge",
                where="svmcut.risks.survival:SurvivalRisk",
                shared=True,
                is_sum=True,
                help="the same, not squared",
            ),
        ),
        measure="concordance",
        measures=(
            Measure("discordance", rises=False, heading="error"),
            Measure("concordance", heading="c", line="Concordance", digits=4),
        ),
        models=_OF_ROWS,
        marked=True,
        lacks=("free_bias",),
        takes=_BASIS,
        gap=1e-3,
        like="LIBLINEAR and LIBSVM",
        objects="times",
        objective="1/2 w'w + C * examples * mean loss of the comparable pairs",
        weighs="share of the loss",
        points="the loss of an example, summed",
        reading="""\
LABEL is the time until the event; a negative one is the time until observation ended without it.
A higher score means an earlier event.""",
        examples="""\
svmcut learn --task survival -c 0.1 train.dat model            squared hinge, as FastSurvivalSVM
svmcut learn --task survival -c 0.1,1 --validate dev.dat --select concordance train.dat m
svmcut classify test.dat model risks                           Harrell's c
""",
    ),
    Task(
        "multilabel",
        where="svmcut.tasks.label_sets:Labelling",
        help="sets of labels",
        labels=SETS,
        loss="hamming",
        losses=(
            Loss(
                "hamming",
                number=1,
                where="svmcut.risks.multilabel:LabelRisk",
                is_sum=True,
                help="the number of wrong labels",
            ),
        ),
        measure="micro_f1",
        measures=(
            Measure("hamming_loss", rises=False, heading="Hamming", line="Hamming loss     "),
            Measure("subset_accuracy", heading="subset", line="Subset accuracy  "),
            Measure("micro_f1", heading="micro F1", line="Micro F1         "),
            Measure("macro_f1", heading="macro F1", line="Macro F1         "),
            Measure("precision@1", heading="P@1", line="Precision@1      ", digits=4),
            Measure("precision@3", heading="P@3", line="Precision@3      ", digits=4),
            Measure("precision@5", heading="P@5", line="Precision@5      ", digits=4),
            Measure("ndcg@1"),
            Measure("ndcg@3", line="NDCG@3           "),
            Measure("ndcg@5", heading="nDCG@5", line="NDCG@5           ", digits=4),
            Measure("psp@1", line="PSP@1            ", of_counts=True),
            Measure("psp@3", line="PSP@3            ", of_counts=True),
            Measure("psp@5", line="PSP@5            ", of_counts=True),
        ),
        models=("MultilabelModel", "SparseLabelModel", "LabelTreeModel"),
        plan="svmcut.training.label_sets:plan_label_sets",
        auto=(DUAL_CD, NEWTON, BCFW, GDMM),
        takes=("bias", "pairs", "tree", "prune", "label_block", "model_format"),
        lacks=("quick", "free_bias"),
        defaults={"bias": 1.0},
        objects="label sets",
        objective="1/2 w'w + C * wrong labels averaged over the examples",
        weighs="wrong labels: without pairs the C of LIBLINEAR for every label",
        points="wrong labels an example",
        notes={"solver": "dual-cd and newton work with --pairs none, where auto is dual-cd."},
        reading="""\
a line is LABEL,LABEL,... INDEX:VALUE ..., labels are whole numbers from 0, and a line that starts
with a blank has none; a first line EXAMPLES FEATURES LABELS means that features count from 0.""",
        examples="""\
svmcut learn --task multilabel --example-cost 1 train.ml model       labels and their pairs
svmcut learn --task multilabel --example-cost 1 --pairs none train.ml model
svmcut learn --task multilabel -c 10,100,1000 --validate dev.ml --select micro-f1 train.ml model
svmcut classify test.ml model labels.txt
""",
    ),
    Task(
        "multiclass",
        where="svmcut.tasks.multiclass:Multiclass",
        help="three or more classes",
        labels=CLASSES,
        loss="error-rate",
        losses=(
            Loss(
                "error-rate",
                number=0,
                where="svmcut.risks.multiclass:CrammerSingerRisk",
                is_sum=True,
                drawn=True,
                **_BOTH,
            ),
            Loss(
                SQUARED_DIFFERENCE,
                number=1,
                where="svmcut.risks.multiclass:ClassCostRisk",
                is_sum=True,
                joint=True,
                help="(class - predicted class)^2",
                **_BOTH,
            ),
            *_OF_SCORES,
        ),
        measure="accuracy",
        measures=(
            Measure("error_rate", rises=False, heading="error"),
            Measure("accuracy", plain="Accuracy", of_rows=True),
            Measure("precision", heading="prec", plain="Macro precision"),
            Measure("recall", heading="recall", plain="Macro recall"),
            Measure("f1", heading="F1", plain="Macro F1"),
        ),
        models=("MulticlassModel", "KernelMulticlassModel", "JointKernelModel"),
        plan="svmcut.training.multiclass:plan_classes",
        kernel_plan="svmcut.training.kernel_classes:MachinesPlan",
        joint_plan="svmcut.training.multiclass:JointPlan",
        auto=(DUAL_CD, NEWTON),
        auto_kernel=(SMO, SUBSPACE),
        takes=("bias", "multiclass", "class_weight", "probability", *_PENALTY),
        parted=True,
        original="svm_multiclass",
        algorithms=(0, 1, 2, 3, 4),
        objects="classes",
        objective="1/2 w'w + C * loss in percent, with weights 100 times those of a unit loss",
        weighs="loss, as in LIBLINEAR",
        points="percent points of the loss",
        examples="""\
svmcut learn --task multiclass train.dat model                     LIBLINEAR's -s 4 -c 1
svmcut learn --task multiclass --multiclass one-vs-rest train.dat model
svmcut learn --task multiclass -t 2 -g 0.5 --solver smo train.dat model    svm-train's -g 0.5
svmcut learn --task multiclass -c 100 train.dat model              svm_multiclass's unit of C
svmcut classify test.dat model labels.txt                      label and the scores of all classes
""",
    ),
)

#: By name; losses and measures name their task.
TASKS = {
    task.name: task._replace(
        losses=tuple(loss._replace(task=task.name) for loss in task.losses),
        measures=tuple(measure._replace(task=task.name) for measure in task.measures),
    )
    for task in _ROWS
}
