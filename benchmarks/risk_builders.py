# SPDX-License-Identifier: BSD-3-Clause
"""How long one most violated constraint takes: nanoseconds per example, and the exponent of its
growth with n.

    python benchmarks/risk_builders.py [--threads 1] [--repeat 7] [--quick]

Medians, of CPU time with one thread and of elapsed time with more. The exponent is the slope of log
seconds over log n.
"""

import statistics
import time

import numpy as np
from arguments import make_parser

from svmcut.risks import RISKS, make_risk
from svmcut.spec.parameters import Settings


def seconds(bound, s, args):
    clock = time.process_time if args.threads == 1 else time.perf_counter
    times = []
    bound.linearize(s)
    for _ in range(args.repeat):
        start = clock()
        bound.linearize(s)
        times.append(clock() - start)
    return statistics.median(times)


def exponent(sizes, times):
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def row(label, sizes, times):
    cells = "".join(f"{1e9 * t / n:10.1f}" for n, t in zip(sizes, times))
    print(f"{label:34s}{cells}{1e3 * times[-1]:11.2f}{exponent(sizes, times):8.2f}")


def header(title, sizes):
    print(
        f"\n{title:34s}" + "".join(f"{n:>10,d}" for n in sizes) + f"{'last, ms':>11s}{'growth':>8s}"
    )


def ordinal(sizes, args, rng):
    header("ordinal, ns per example", sizes)
    for grades in (2, 5, 100, 1000, None):
        times = []
        for n in sizes:
            y = rng.integers(0, grades or n, n).astype(float)
            bound = make_risk(Settings(loss="pairs")).bind(y, threads=args.threads)
            times.append(seconds(bound, rng.normal(size=n), args))
        row(f"one query, R = {grades or 'n'}", sizes, times)
    for rows in (20, 1000):
        times = []
        for n in sizes:
            bound = make_risk(Settings(loss="swapped-pairs")).bind(
                rng.integers(0, 5, n).astype(float), np.arange(n) // rows, threads=args.threads
            )
            times.append(seconds(bound, rng.normal(size=n), args))
        row(f"queries of {rows}, R = 5", sizes, times)


def multivariate(sizes, args, rng):
    header("multivariate, ns per example", sizes)
    variants = [
        (name, rescaling, norm)
        for name, entry in RISKS.items()
        if entry.table and name != "error-rate"
        for rescaling, norm in (("margin", 1), ("slack", 1), ("margin", 2))
    ]
    variants += [("error-rate", "slack", 1), ("error-rate", "margin", 2), ("roc-area", "margin", 1)]
    variants += [("average-precision", "margin", 1)]
    for name, rescaling, norm in variants:
        times = []
        for n in sizes:
            y = np.where(rng.random(n) < 0.47, 1.0, -1.0)
            s = rng.normal(size=n) + y
            if name == "average-precision":
                s *= 1e-4
            bound = make_risk(Settings(loss=name, rescaling=rescaling, slack_norm=norm)).bind(
                y, threads=args.threads
            )
            times.append(seconds(bound, s, args))
        row(f"{name}, {rescaling}, norm {norm}", sizes, times)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    scale = 10 if args.quick else 1
    ordinal([n // scale for n in (10_000, 100_000, 1_000_000)], args, rng)
    multivariate([n // scale for n in (100_000, 800_000)], args, rng)


if __name__ == "__main__":
    main()
