# SPDX-License-Identifier: BSD-3-Clause
"""Settings as the trainers take them. Defaults are those of svmcut.parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Literal

from svmcut.catalog import AUTO, SOLVERS, TASKS
from svmcut.kernel_options import KernelOptions
from svmcut.kernels import Kernel
from svmcut.parameters import DEFAULTS, EPSILON, Settings
from svmcut.refusals import chosen_solver

_BIAS = 1.0


@dataclass(frozen=True, slots=True)
class Config:
    """What to train; as svmcut.parameters.Settings, but for these.

    Attributes
    ----------
    epsilon : float or None
        None for the solver's custom.
    one_class : bool
        Whether measures of two classes accept examples of one.
    cache_mb : float
        Megabytes of kernel rows kept.
    kernel : Kernel
        All its parameters go into the model file.
    reduced : KernelOptions
        How training with a kernel is made cheaper.
    """

    task: str = DEFAULTS["task"]
    loss: str = TASKS[DEFAULTS["task"]].loss
    cost: float | None = None
    example_cost: float | None = None
    p: float = DEFAULTS["p"]
    rescaling: Literal["margin", "slack"] = DEFAULTS["rescaling"]
    slack_norm: Literal[1, 2] = DEFAULTS["slack_norm"]
    epsilon: float | None = EPSILON
    gap: float | None = None
    one_class: bool = False
    bias: float = _BIAS
    free_bias: bool | None = None
    cache_mb: float = DEFAULTS["cache_size"]
    kernel: Kernel = field(default_factory=Kernel)
    solver: str = AUTO
    max_iterations: int | None = None
    time_limit: float | None = None
    max_memory: float | None = None
    threads: int = 1
    seed: int = DEFAULTS["seed"]
    qp: str | None = None
    reduced: KernelOptions = field(default_factory=KernelOptions)

    def settings(self) -> Settings:
        """What `svmcut.refusals.check` looks at; C comes with every fit, and the default bias is no wish."""
        kernel, names = self.kernel, {item.name for item in fields(Settings)}
        same = {item.name: getattr(self, item.name) for item in fields(self) if item.name in names}
        same |= asdict(self.reduced) | {
            "cost": 1.0, "example_cost": None, "kernel": kernel.name, "degree": kernel.degree, "gamma": kernel.gamma,
            "scale_kernel": kernel.scale, "coef0": kernel.offset, "u": kernel.text, "cache_size": self.cache_mb,
            "epsilon": None if self.epsilon == EPSILON else self.epsilon,
            "bias": None if self.bias == _BIAS else self.bias,
            "time_limit": self.time_limit or None,  # 0 where it was over before the run
            "polish": None if self.reduced.polish else False,
        }  # fmt: skip
        return Settings(**same)


def configure(settings: Settings, one_class: bool = False, time_limit: float | None = None) -> Config:
    """Checked settings as a trainer takes them; C comes with every fit."""
    s, solver, task = settings, chosen_solver(settings), TASKS[settings.task]
    polished = solver == AUTO or SOLVERS[solver].polished is not False
    bias = _BIAS if s.task in ("classification", "multilabel") and not s.has_kernel else 0.0
    return Config(
        task=s.task, loss=s.loss or task.loss, p=s.p, rescaling=s.rescaling, slack_norm=s.slack_norm,
        epsilon=task.defaults.get("epsilon", EPSILON if not s.has_kernel else None) if s.epsilon is None else s.epsilon,
        gap=s.gap, one_class=one_class, bias=bias if s.bias is None else s.bias, free_bias=s.free_bias,
        cache_mb=s.cache_size, kernel=Kernel(s.kernel, s.degree, s.gamma, s.scale_kernel, s.coef0, s.u), solver=solver,
        max_iterations=s.max_iterations, time_limit=s.time_limit if time_limit is None else time_limit,
        max_memory=s.max_memory, threads=s.threads, seed=s.seed, qp=s.qp,
        reduced=KernelOptions(
            s.sample_size, s.patience, s.basis, s.basis_method, s.basis_file,
            polished if s.polish is None else s.polish, s.certify, s.budget, s.epochs, s.maintenance, s.sampling,
            s.hold_out, s.nu, s.average,
        ),
    )  # fmt: skip
