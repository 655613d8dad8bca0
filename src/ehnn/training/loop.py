"""One loop for every task."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import inf, isfinite
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from ehnn._utils.atomic import atomic_write, naming
from ehnn._utils.folders import claimed

from .board import Board
from .checkpoint import NAME, load_checkpoint, load_optimizer, optimizer_tensors, save_checkpoint
from .config import TrainConfig
from .identity import check_same, identity
from .progress import Progress
from .randomness import OwnRandom
from .replay import Replayed
from .resumed import check_state, check_tensors
from .runs import Runs
from .task import NotFiniteError, Result, Task

DIVERGED = 10.0
"""There is a warning if a loss is this many times that of the first epoch (or 1, if that was less)."""
_ONE_AT_A_TIME = Lock()


def fit(
    make: Callable[[], nn.Module],
    task: Task,
    seeds: Sequence[int],
    config: TrainConfig | None = None,
    *,
    directory: Path | str | None = None,
    device: torch.device | str = "cpu",
    label: str = "training",
    quiet: bool = False,
    seconds: float | None = None,
) -> Result:
    """Train one model per seed, all in one computation, and select the epoch of each on validation.

    ``make()`` gives a model, which is trained on ``task`` on the given ``device``. ``label`` is shown beside
    the progress, unless ``quiet``.

    >>> from ehnn import Hypergraph
    >>> from ehnn.nn import EHNNMLP, Stack
    >>> from ehnn.tasks import NodeClassification
    >>> edges, y = [range(0, 8, 2), range(1, 8, 2)], torch.tensor([0, 1] * 4)
    >>> task = NodeClassification(Hypergraph.from_edges(edges, x=torch.eye(8), y=y), seeds=range(3))
    >>> config = TrainConfig(epochs=5)
    >>> result = fit(lambda: Stack(8, 2, EHNNMLP), task, range(3), config, quiet=True)
    >>> len(result.selected("validation"))  # the test metric of each run
    3

    With a ``directory`` every evaluated epoch is a line of ``metrics.jsonl`` and the state is saved every
    ``config.checkpoint_every`` epochs; a run that was stopped at any moment continues from there and ends
    with the same result (bit for bit on a CPU). Of equal validation metrics the later epoch wins. A
    checkpoint of other seeds, of another ``config`` or of a model that prints differently is refused; tasks
    are not compared. A ``directory`` to which another process is training is refused too
    (`ehnn._utils.folders.FolderInUseError`).

    With ``seconds`` no epoch begins that would end later than that, judged by the last one; called again, the
    run continues. The last entry of ``history`` has the last epoch.
    """
    if isinstance(make, nn.Module):
        raise ValueError(f"make must be a factory () -> Module, got an instance of {type(make).__name__}")
    end = None if seconds is None else time.monotonic() + seconds
    with nullcontext() if directory is None else claimed(directory):
        trainer = _Trainer(make, task, seeds, config or TrainConfig(), directory, device)
        return trainer.run(label, quiet, end)


class _Trainer:
    """The state of one `fit`; its parts, and what `_save` and `_resume` keep of them.

    Attributes:
        result: the runs, their history and their best parameters so far.
        average: the moving average of the parameters (``config.ema``), or None.
        epoch: how many are done.
        last_gain: the last epoch in which a run had a new best validation metric.
        step: the training steps done, as a tensor that a recorded graph increases.
        loss, first_loss: of the last epoch, and of the one that it is compared with; see `DIVERGED`.
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        task: Task,
        seeds: Sequence[int],
        config: TrainConfig,
        directory: Path | str | None,
        device: torch.device | str,
    ) -> None:
        self.task, self.config = task, config
        self.directory = None if directory is None else Path(directory)
        if config.compile and config.cuda_graph and torch.device(device).type == "cuda":
            raise ValueError("compile=True on a GPU needs cuda_graph=False")
        runs = Runs(make, seeds, device, config.compile)
        self.result = Result(runs, [], runs.state(), [-torch.inf] * len(runs), [0] * len(runs))
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer]
        self.device = torch.device(device)
        on_gpu = self.device.type == "cuda"
        groups = _groups(runs, config, self.device if on_gpu else None)
        self.optimizer = kind(
            groups, lr=config.lr, weight_decay=config.weight_decay, fused=True, capturable=on_gpu
        )
        graphed = on_gpu and config.cuda_graph
        self._open: Callable[[Any], Any] = getattr(task, "open", lambda batch: batch)
        self._train_step = Replayed(self._step, device) if graphed else self._step
        self._predict = Replayed(torch.no_grad()(self._forward), device) if graphed else self._forward
        self.average = (
            {k: v.detach().clone() for k, v in runs.parameters.items()} if config.ema is not None else None
        )
        self.epoch = self.last_gain = 0
        self._rng: Tensor | None = None
        self._own_random = OwnRandom(runs.seeds[0])
        # What `_save` keeps of the selection if the time limit has caused an evaluation: the state before it.
        self._on_schedule: dict[str, Any] | None = None
        self.loss: list[float] = []
        self.first_loss: list[float] | None = None
        self.step = torch.zeros((), dtype=torch.int64, device=device)
        self.identity = identity(runs, config)  # before a module changes what it holds
        self._resume()
        self.board = Board(self.directory, self.epoch)

    def run(self, label: str, quiet: bool, end: float | None = None) -> Result:
        """Run the remaining epochs, or as many as end before the time ``end``."""
        try:
            with self._random():
                self._run(label, quiet, end)
                self._save()
        finally:
            self.close()
        return self.result

    @contextmanager
    def _random(self) -> Iterator[None]:
        """Random numbers of a model in training come from generators with the seed, in this thread alone.

        On a GPU recorded graphs use the generator of the process, so such fits wait for each other.
        """
        if not self.result.runs.draws:
            yield
        elif self.device.type == "cpu":
            with self._own_random:
                yield
        else:
            with _ONE_AT_A_TIME, torch.random.fork_rng([self.device]):
                torch.manual_seed(self.result.runs.seeds[0])
                if self._rng is not None:
                    torch.set_rng_state(self._rng)
                yield

    def _rng_state(self) -> Tensor:
        on_cpu = self.device.type == "cpu"
        return self._own_random.generator().get_state() if on_cpu else torch.get_rng_state()

    def _run(self, label: str, quiet: bool, end: float | None) -> None:
        with Progress(label, self.config.epochs, self.epoch, quiet) as progress:
            while self.epoch < self.config.epochs and not self.out_of_patience():
                begun = time.monotonic()
                shown = self.run_epoch()
                now = time.monotonic()
                out_of_time = end is not None and 2 * now - begun > end
                if out_of_time and not self._evaluated():
                    best = {name: value.clone() for name, value in self.result.best.items()}
                    self._on_schedule = self._selection() | {"best": best}
                    shown |= self._evaluate()
                progress.update(self.epoch, **shown)
                if out_of_time:
                    break

    def _selection(self) -> dict[str, Any]:
        """The history, and the best epoch of each run so far."""
        found = self.result
        return {
            "best": found.best, "history": list(found.history), "best_valid": list(found.best_valid),
            "best_epoch": list(found.best_epoch), "last_gain": self.last_gain,
        }  # fmt: skip

    # ------------------------------------------------------------------ one epoch

    def run_epoch(self) -> dict[str, float]:
        self._set_lr(self.config.lr_at(self.epoch))
        losses = [self._train_step(h).clone() for h in self.task.batches(self.epoch)]
        if not losses:
            raise ValueError("the task has no training batches")
        loss = self.loss = torch.stack(losses).mean(0).tolist()
        self._check_finite(loss)
        self._check_diverged(loss)
        self.epoch += 1
        shown = {"loss": sum(loss) / len(loss)}
        if self.epoch % self.config.evaluate_every == 0 or self.epoch == self.config.epochs:
            shown |= self._evaluate()
        if self.epoch % self.config.checkpoint_every == 0:
            self._save()
        return shown

    def _set_lr(self, lr: float) -> None:
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr * group["factor"])
            else:
                group["lr"] = lr * group["factor"]

    def _step(self, batch: Any) -> Tensor:
        h = self._open(batch)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.amp):
            logits = self._forward(h, self.step)
        losses = self.task.loss(logits.float() if self.config.amp else logits, h)
        self.result.runs.backward(losses.sum())
        if self.config.clip_norm is not None:
            self.result.runs.clip_gradients(self.config.clip_norm)
        self.optimizer.step()
        self._average()
        self.step += 1
        return losses.detach()

    def _forward(self, h: Any, step: Tensor | None = None) -> Tensor:
        parameters = self.average if step is None else None
        return self.result.runs.forward(h, getattr(h, "run_x", None), step=step, parameters=parameters)

    @torch.no_grad()
    def _average(self) -> None:
        if self.average is None or self.config.ema is None:
            return
        decay = ((self.step + 1) / (self.step + 10)).clamp(max=self.config.ema)
        for name, parameter in self.result.runs.parameters.items():
            self.average[name].lerp_(parameter, (1 - decay).to(parameter.dtype))

    def _check_finite(self, loss: list[float]) -> None:
        seeds = [
            seed for seed, value in zip(self.result.runs.seeds, loss, strict=True) if not isfinite(value)
        ]
        if seeds:
            raise NotFiniteError(
                f"the loss is not finite in epoch {self.epoch + 1} (seeds {seeds}); {self._kept()}; "
                "lower lr or clip_norm"
            )

    def _check_diverged(self, loss: list[float]) -> None:
        """Warn, once, of runs whose loss is far above that of the first epoch that this process saw."""
        first = self.first_loss = self.first_loss or loss
        runs = zip(self.result.runs.seeds, loss, first, strict=True)
        risen = {s: f"{now:.3g} after {then:.3g}" for s, now, then in runs if now > DIVERGED * max(then, 1.0)}
        if risen:
            warnings.warn(
                f"the loss has gone up in epoch {self.epoch + 1}, by seed: {risen}; lower lr or clip_norm",
                RuntimeWarning,
                stacklevel=4,
            )
            self.first_loss = [inf] * len(loss)

    def _kept(self) -> str:
        if self.directory is None or not (self.directory / NAME).exists():
            return "no checkpoint yet"
        return f"last good checkpoint in {self.directory}"

    @torch.no_grad()
    def _evaluate(self) -> dict[str, float]:
        metrics = self.task.evaluate(self._predict)
        self._check_metrics(metrics)
        row: dict[str, Any] = {"epoch": self.epoch, "loss": self.loss}
        row |= {k: v.tolist() for k, v in metrics.items()}
        self.result.history.append(row)
        self._write_metrics(row)
        self._select(row.get("valid", [torch.inf] * len(self.result.runs)))
        return {k: v.double().mean().item() for k, v in metrics.items() if "/" not in k}

    def _check_metrics(self, metrics: dict[str, Tensor]) -> None:
        bad = metrics["valid"].isnan().nonzero().flatten().tolist() if "valid" in metrics else []
        if bad:
            seeds = [self.result.runs.seeds[i] for i in bad]
            raise NotFiniteError(
                f"the metric valid is not a number in epoch {self.epoch} (seeds {seeds}); {self._kept()}; "
                "lower lr or clip_norm"
            )
        given, runs = len(metrics.get("valid", self.result.runs)), len(self.result.runs)
        if given != runs:
            raise ValueError(f"valid must have a number for each of {runs} runs, got {given}")
        if self.config.patience is not None and "valid" not in metrics:
            raise ValueError(f"patience={self.config.patience} needs validation data, the task has none")

    def _write_metrics(self, row: dict[str, Any]) -> None:
        if self.directory is None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "metrics.jsonl"
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self.board.write(row)

    def _select(self, valid: list[float]) -> None:
        """Keep the parameters of each run whose validation metric is as good as its best so far."""
        for r, value in enumerate(valid):
            if value >= self.result.best_valid[r]:
                self.last_gain = self.epoch if value > self.result.best_valid[r] else self.last_gain
                self.result.best_valid[r], self.result.best_epoch[r] = value, self.epoch
                chosen = self.average or self.result.runs.parameters
                for name, tensor in (chosen | self.result.runs.statistics()).items():
                    self.result.best[name][r] = tensor[r]

    def out_of_patience(self) -> bool:
        """Whether no run has improved for ``patience`` epochs; False between two evaluations."""
        if self.config.patience is None:
            return False
        return self._evaluated() and self.epoch - self.last_gain >= self.config.patience

    def _evaluated(self) -> bool:
        """Whether the last epoch has been evaluated."""
        return bool(self.result.history) and self.result.history[-1]["epoch"] == self.epoch

    # ------------------------------------------------------------------ saving and resuming

    def _save(self) -> None:
        if self.directory is None:
            return
        # The last step of an epoch can spoil the parameters after its loss was taken.
        if not all(bool(p.isfinite().all()) for p in self.result.runs.parameters.values()):
            raise NotFiniteError(
                f"parameters are not finite after epoch {self.epoch}; {self._kept()}; lower lr"
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        selection = dict(self._on_schedule or self._selection())
        tensors = {f"parameters.{k}": v for k, v in self.result.runs.state().items()}
        tensors |= {f"best.{k}": v for k, v in selection.pop("best").items()}
        tensors |= {f"average.{k}": v for k, v in (self.average or {}).items()}
        tensors |= optimizer_tensors(self.optimizer) | {"rng": self._rng_state()}
        state = {
            "epoch": self.epoch,
            "step": int(self.step),
            "identity": self.identity,
        } | selection
        save_checkpoint(self.directory, tensors, state)

    def _resume(self) -> None:
        found = None if self.directory is None else load_checkpoint(self.directory)
        if found is None or self.directory is None:
            self._rewrite_metrics()
            return
        tensors, state = found
        path, own = self.directory / NAME, json.loads(json.dumps(self.identity))
        check_state(path, state, len(self.result.runs))
        check_same(self.directory, state["identity"], own)
        runs = self.result.runs
        kept = {"parameters": runs.state(), "best": self.result.best, "average": self.average or {}}
        check_tensors(path, tensors, kept, self.optimizer)
        runs.load({k: tensors[f"parameters.{k}"] for k in runs.state()})
        best = self.result.best
        self.result.best = {k: tensors[f"best.{k}"].to(v.device) for k, v in best.items()}
        for name, average in (self.average or {}).items():
            average.copy_(tensors[f"average.{name}"])
        load_optimizer(self.optimizer, tensors)
        self._rng = tensors["rng"]
        self._own_random.generator().set_state(self._rng)
        self.epoch, self.last_gain = state["epoch"], state["last_gain"]
        self.step.fill_(state["step"])
        self.result.history = state["history"]
        self.result.best_valid, self.result.best_epoch = state["best_valid"], state["best_epoch"]
        self._rewrite_metrics()

    def _rewrite_metrics(self) -> None:
        """Drop the lines after the checkpoint: their epochs will be run again."""
        if self.directory is not None and (self.directory / "metrics.jsonl").exists():
            with atomic_write(self.directory / "metrics.jsonl", "w") as file:
                file.writelines(json.dumps(row) + "\n" for row in self.result.history)

    def close(self) -> None:
        """Write what TensorBoard still has to show, and free recorded steps; after an error too."""
        self.board.close()
        for part in (self._train_step, self._predict):
            if isinstance(part, Replayed):
                part.close()


def _groups(runs: Runs, config: TrainConfig, gpu: torch.device | None) -> list[dict[str, Any]]:
    """Parameters by the factor on their learning rate; a graph on a GPU reads the rate from memory."""
    groups = []
    for factor, parameters in runs.by_factor(config.lr_factor).items():
        lr = config.lr * factor
        rate = lr if gpu is None else torch.tensor(lr, device=gpu)
        groups.append({"params": parameters, "lr": rate, "factor": factor})
    return groups
