"""R models of one architecture, trained as one batched computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.func import stack_module_state, vmap

from ehnn.hypergraph import Hypergraph
from ehnn.nn.dropout import Dropout

from .randomness import OwnRandom, is_foreign

_PRIME = 1_000_003


class Runs:
    """R independent models of one architecture, their parameters stacked along a first dimension.

    Run r starts from the parameters that ``make`` draws after ``torch.manual_seed(seeds[r])``. It draws them
    in this thread alone: the random numbers of the process are not touched. Its dropout masks are a function
    of (seeds[r], module, step) alone, so the result of a run does not depend on which other runs are trained
    beside it. Parameters that do not require gradients are not trained.

    Args:
        make: builds one model; called once per run.
        seeds: one per run.
        device: where the parameters live.
        compile: call the model through ``torch.compile``, with hypergraphs that occur again; for one run.

    Attributes:
        parameters: ``[runs, …]`` each, by name.
        model: the modules of all runs; `forward` puts the parameters of the runs in place of their own.
        draws: whether the model may draw random numbers other than the masks of `ehnn.nn.Dropout`.

    >>> runs = Runs(lambda: torch.nn.Linear(2, 3), seeds=range(4))
    >>> runs.parameters["weight"].shape
    torch.Size([4, 3, 2])
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        seeds: Sequence[int],
        device: torch.device | str = "cpu",
        compile: bool = False,
    ) -> None:
        if not seeds:
            raise ValueError("seeds must name at least one run, got none")
        if compile and len(seeds) > 1:
            raise ValueError(f"compile trains one seed at a time, got {len(seeds)} seeds: {list(seeds)}")
        self.seeds = tuple(map(int, seeds))
        models = [_seeded(make, seed) for seed in self.seeds]
        if len(models) > 1:
            _check_stackable(models[0], self.seeds)
        self.draws = is_foreign(models[0]) or any(map(_draws, models[0].modules()))
        parameters, buffers = stack_module_state(models)
        differ = [k for k, v in buffers.items() if len(models) > 1 and bool((v != v[:1]).any())]
        self._drawn = {k: buffers[k].to(device) for k in differ}
        frozen = {k for k, p in models[0].named_parameters() if not p.requires_grad}
        self.parameters = {
            k: v.detach().to(device).requires_grad_(k not in frozen) for k, v in parameters.items()
        }
        self._flat = _in_a_row(self._learned()) if len(self.seeds) == 1 else None
        if self._flat is not None:
            self.parameters |= self._flat.pieces
        # Of a single run also without the dimension for runs, in the same memory: leaves, for `backward`.
        self._alone = {k: _alone(v) for k, v in self.parameters.items()} if len(self.seeds) == 1 else {}
        self.model = models[0].to(device)
        kept = self.model.state_dict()
        self._statistics = {k: kept[k] for k in kept if k not in self.parameters and len(models) == 1}
        self._dropouts = [
            (name, m) for name, m in self.model.named_modules() if isinstance(m, Dropout) and m.p > 0
        ]
        for _, module in self._dropouts:
            module.seeded = True
        self._seeds = torch.tensor(self.seeds, dtype=torch.int64, device=device)
        self._places = _places(self.model)
        self._compiled: Callable[..., Tensor] | None = torch.compile(self.model) if compile else None
        self._met: WeakSet[Any] = WeakSet()

    def __len__(self) -> int:
        return len(self.seeds)

    def _learned(self) -> dict[str, Tensor]:
        """The parameters that are not frozen (``requires_grad``)."""
        return {k: v for k, v in self.parameters.items() if v.requires_grad}

    def forward(
        self,
        h: Hypergraph,
        x: Tensor | None = None,
        *,
        step: Tensor | None = None,
        parameters: dict[str, Tensor] | None = None,
    ) -> Tensor:
        """``[runs, rows, channels]``; ``x`` may be ``[rows, d]``, or ``[runs, rows, d]``.

        With ``step`` (an int64 tensor, which a recorded graph can increase) the models train, with the
        dropout masks of that step; without it they predict. Stacked ``parameters`` replace the own ones.
        """
        if self.model.training != (step is not None):
            self.model.train(step is not None)
        own = parameters is None
        parameters = self.parameters if parameters is None else parameters
        buffers = self._drawn | (self._dropout_seeds(step) if step is not None else {})
        own_x = x is not None and x.dim() == 3

        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor | None) -> Tensor:
            return self._call(parameters | buffers, h, x)

        if len(self) == 1:  # squeeze: the gradient of an index would be a copy into zeros
            first = self._alone if own else {k: v.squeeze(0) for k, v in parameters.items()}
            seeds = {k: v.squeeze(0) for k, v in buffers.items()}
            return one(first, seeds, x[0] if x is not None and own_x else x).unsqueeze(0)
        dims = (0, 0 if buffers else None, 0 if own_x else None)
        return vmap(one, in_dims=dims)(parameters, buffers, x)

    def _call(self, values: dict[str, Tensor], h: Hypergraph, x: Tensor | None) -> Tensor:
        """The model with other tensors in place of its own; `torch.func.functional_call` searches for
        the places in every call, which takes as long as a small model."""
        kept = [owner[name] for owner, name, _ in self._places]
        try:
            for owner, name, key in self._places:
                owner[name] = values.get(key, owner[name])
            return self._model_for(h)(h, x)
        finally:
            for (owner, name, _), own in zip(self._places, kept, strict=True):
                owner[name] = own

    def _model_for(self, h: Hypergraph) -> Callable[..., Tensor]:
        """The compiled model, for hypergraphs that occur again: the first call makes their structure."""
        if self._compiled is None:
            return self.model
        if h in self._met:
            return self._compiled
        self._met.add(h)
        return self.model

    def _dropout_seeds(self, step: Tensor) -> dict[str, Tensor]:
        """A seed per run for every dropout module."""
        return {
            f"{name}.seed": (self._seeds * _PRIME + i + 1) * _PRIME + step
            for i, (name, _) in enumerate(self._dropouts)
        }

    @property
    def in_a_row(self) -> bool:
        """Whether the parameters are pieces of one tensor."""
        return self._flat is not None

    def by_factor(self, factor: Callable[[str], float]) -> dict[float, list[Tensor]]:
        """The tensors that an optimiser updates, by ``factor`` of the names of their parameters."""
        found: dict[float, list[Tensor]] = {}
        if self._flat is None:
            for name, parameter in self._learned().items():
                found.setdefault(factor(name), []).append(parameter)
            return found
        for value, names in groupby(self._flat.pieces, factor):
            found.setdefault(value, []).append(self._flat.part(list(names)))
        return found

    def backward(self, loss: Tensor) -> None:
        """The gradients of ``loss``, as ``grad`` of the parameters."""
        if self._flat is not None:
            self._flat.gradients.zero_()
            loss.backward()
            return
        for parameter in self.parameters.values():
            parameter.grad = None
        loss.backward()
        for name, leaf in self._alone.items():
            if leaf.grad is not None:
                self.parameters[name].grad, leaf.grad = leaf.grad.unsqueeze(0), None
        for parameter in self._learned().values():  # as flat parameters have
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    def gradients(self) -> list[Tensor]:
        """The gradients of all parameters that have one, ``[runs, …]`` each."""
        if self._flat is not None:
            return [self._flat.gradients.unsqueeze(0)]
        return [p.grad for p in self.parameters.values() if p.grad is not None]

    def clip_gradients(self, max_norm: float) -> None:
        """Scale the gradient of each run to at most ``max_norm``."""
        gradients = self.gradients()
        if len(self) == 1:
            norms = torch.stack(torch._foreach_norm(gradients)).norm(keepdim=True)
        else:
            norms = torch.cat([g.reshape(len(self), -1) for g in gradients], 1).norm(dim=1)
        scale = (max_norm / (norms + 1e-6)).clamp(max=1.0)
        torch._foreach_mul_(gradients, [scale.reshape(-1, *[1] * (g.dim() - 1)) for g in gradients])

    def state(self) -> dict[str, Tensor]:
        """A copy of the stacked parameters, and of a single run's buffers that a state dict holds."""
        return {k: v.detach().clone() for k, v in (self.parameters | self.statistics()).items()}

    def statistics(self) -> dict[str, Tensor]:
        """``[1, …]``: buffers of a single run, which training may change; none of several."""
        return {k: v.unsqueeze(0) for k, v in self._statistics.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Copy a `state` into the parameters in place: the optimiser keeps its tensors."""
        with torch.no_grad():
            for name, value in (self.parameters | self.statistics()).items():
                if name in state or name in self.parameters:
                    value.copy_(state[name])

    def extract(self, run: int) -> nn.Module:
        """The model of one run, as an ordinary module with its own parameters."""
        import copy

        model = copy.deepcopy(self.model)
        tensors = dict((*model.named_parameters(), *model.named_buffers()))
        with torch.no_grad():
            for name, value in (self.parameters | self._drawn).items():
                tensors[name].copy_(value[run])
        for module in model.modules():
            if isinstance(module, Dropout):
                module.seeded = False
        return model


def _check_stackable(model: nn.Module, seeds: Sequence[int]) -> None:
    """Raise a ValueError for a model of which several cannot be trained in one computation."""
    if any(map(_keeps_statistics, model.modules())):
        raise ValueError(f"a model with running statistics is trained one seed at a time, got {seeds}")
    if any(map(_draws, model.modules())):
        raise ValueError(
            f"torch.nn.Dropout draws masks of its own and is trained one seed at a time, got {seeds}; "
            "use ehnn.nn.Dropout instead"
        )


def _keeps_statistics(module: nn.Module) -> bool:
    """Whether a module keeps running statistics, as BatchNorm does."""
    return getattr(module, "track_running_stats", False) is True


def _draws(module: nn.Module) -> bool:
    """Whether a module is PyTorch's own dropout."""
    return isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0


class _Flat:
    """Parameters in one tensor and their gradients in another: clipping and a step are a few operations
    instead of a few for each parameter, which take longer than a small model."""

    def __init__(self, parameters: dict[str, Tensor]) -> None:
        self.values = torch.cat([p.detach().reshape(-1) for p in parameters.values()])
        self.gradients = torch.zeros_like(self.values)
        sizes = [p.numel() for p in parameters.values()]
        self.ends = dict(zip(parameters, accumulate(sizes), strict=True))
        values, gradients = self.values.split(sizes), self.gradients.split(sizes)
        self.pieces = {
            name: _leaf(value.view(p.shape), gradient.view(p.shape))
            for (name, p), value, gradient in zip(parameters.items(), values, gradients, strict=True)
        }

    def part(self, names: Sequence[str]) -> Tensor:
        """Neighbouring parameters as one leaf."""
        own = slice(self.ends[names[0]] - self.pieces[names[0]].numel(), self.ends[names[-1]])
        return _leaf(self.values[own], self.gradients[own])


def _in_a_row(parameters: dict[str, Tensor]) -> _Flat | None:
    """The flat parameters; None on a GPU, where each gradient would cost a launch, or for several dtypes."""
    same = {(p.dtype, p.device.type) for p in parameters.values()}
    return _Flat(parameters) if len(same) == 1 and next(iter(same))[1] == "cpu" else None


def _leaf(value: Tensor, gradient: Tensor | None, learned: bool = True) -> Tensor:
    # Not `detach`: a model that writes into one parameter as it runs would seem to have changed them all.
    value = value.data.requires_grad_(learned)
    value.grad = gradient
    return value


def _alone(parameter: Tensor) -> Tensor:
    """The parameter and its gradient without the dimension for runs, in the same memory."""
    gradient = parameter.grad
    own = None if gradient is None else gradient.squeeze(0)
    return _leaf(parameter.squeeze(0), own, parameter.requires_grad)


def _places(model: nn.Module) -> list[tuple[dict[str, Any], str, str]]:
    """For each parameter and buffer: the dictionary of its module, its name there, its full name."""
    names = {id(t): key for key, t in (*model.named_parameters(), *model.named_buffers())}
    dictionaries = [d for module in model.modules() for d in (module._parameters, module._buffers)]
    return [(d, name, names[id(t)]) for d in dictionaries for name, t in d.items() if t is not None]


def _seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    with OwnRandom(seed):
        return make()
