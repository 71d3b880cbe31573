# SPDX-License-Identifier: BSD-3-Clause
"""Train on workers that dask-jobqueue starts as jobs of SLURM, as many as there is room for.

pip install '.[dask]' dask-jobqueue
python examples/cluster_jobqueue.py '/shared/rows/part-*.svm.gz' model

Where this process ends too early, by its own walltime say, the same line goes on from
model.checkpoint.
"""

import sys

import dask
from dask.distributed import Client
from dask_jobqueue import SLURMCluster

import svmcut.dask

if __name__ == "__main__":
    files, model = sys.argv[1:]
    dask.config.set(
        {"distributed.scheduler.worker-ttl": "60s", "distributed.scheduler.allowed-failures": 30}
    )
    # workers end by themselves before the job does, and others take over their files
    cluster = SLURMCluster(
        cores=4,
        processes=4,
        memory="16GB",
        walltime="02:00:00",
        worker_extra_args=["--lifetime", "110m"],
    )
    with cluster, Client(cluster) as client:
        cluster.adapt(minimum=2, maximum=32)
        saved = {"checkpoint": f"{model}.checkpoint", "resume": True}
        outcome = svmcut.dask.train(client, files, example_cost=1.0, gap=1e-3, **saved)
        outcome.save(model)
        print(f"primal {outcome.primal:.6g}, gap {outcome.gap:.3g}, {outcome.details}")
