"""What every estimator shares: scikit-learn's parameter protocol, training, saving and loading."""

from __future__ import annotations

import copy
import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from ehnn._utils.optional import suggest
from ehnn._utils.schema import check
from ehnn._utils.threads import threads_with_cores
from ehnn._utils.untrusted import shortened
from ehnn._utils.validation import as_count, short
from ehnn.hypergraph import Hypergraph
from ehnn.parallel.running import RunningPools
from ehnn.tables.reader import Reader
from ehnn.training import Task, TrainConfig, fit
from ehnn.training.randomness import OwnRandom

from . import storage
from .auto import AutoNodes
from .finite import finite_outputs
from .labels import plain
from .models import Factory, NetworkSpec
from .portfolio.budget import seconds_of
from .room import within

_DEVICES = "'auto', 'cpu', 'cuda', 'cuda:1', …"

Self = TypeVar("Self", bound="Estimator")
_Fit = TypeVar("_Fit", bound=Callable[..., Any])


class NotFittedError(ValueError, AttributeError):
    """The estimator was asked for predictions before ``fit``."""


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default; a frame or a matrix compares element by element."""
    return isinstance(value, (str, int, float, np.generic)) and bool(value == default)


def _not_fitted(message: str) -> NotFittedError:
    """The error, which is scikit-learn's error too."""
    from sklearn import exceptions

    kind = type("NotFittedError", (NotFittedError, exceptions.NotFittedError), {"__module__": __name__})
    return kind(message)


def all_or_nothing(function: _Fit) -> _Fit:
    """A decorator of ``fit``: one that fails or is interrupted leaves the estimator as it was before."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            with torch.inference_mode(False), torch.enable_grad():  # wherever it is called
                return function(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(_Fit, call)


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator:
    """Parameters and machinery common to all estimators. The constructor only stores.

    Features of nodes and hyperedges are read (and standardised). Estimators of nodes, hyperedges and
    incidences read roles, and EHNN in them reads weights.

    Args:
        model: ``"auto"``: simple and neural members are compared on held-out labels and averaged (see
            ``leaderboard_``); or one alone: ``"ehnn-mlp"``, ``"ehnn-transformer"``, a baseline, or a factory
            ``(d_in, d_out) -> nn.Module`` of a module with ``module(h) -> [rows, d_out]``.
        width: channels between the layers. ``width``, ``dropout`` and ``options`` are settings of models
            given by name; a factory does not get them.
        dropout: the dropout rate between the layers.
        options: further arguments of the layer or baseline; with ``model="auto"``, of EHNN-MLP.
        features: of nodes: ``"given"``, ``"structural"`` (degrees, orders: see `structural_features`),
            ``"both"``, ``"all"`` (these and spectral features of the incidence matrix; not of whole
            hypergraphs), or ``"auto"``: given ones where there are any, degrees and orders where hyperedges
            alone have some, else degrees, orders and spectral features.
        lr, weight_decay: learning rate and weight decay of Adam; ``model="auto"`` sets its own, except in
            `HyperedgePredictor`.
        epochs: the largest number of passes over the data.
        patience: stop after this many epochs without a better validation metric; None: never stop early.
        validation_fraction: the share of labels kept out of training to select the epoch; 0: take the last
            one.
        random_state: the seed of everything random.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, …, or ``"auto"``: a GPU if there is one.
        budget: time for ``model="auto"``: ``"fast"``, ``"default"``, ``"best"`` or seconds. Members that
            would take longer, by estimates from the sizes of the data, are left out: the same data give the
            same members. A fit that takes four times as long (or longer than the seconds given) stops: see
            ``left_out_``.
        verbose: show progress.
    """

    model: str | Factory = "auto"
    width: int = 64
    dropout: float = 0.5
    options: Mapping[str, Any] | None = None
    features: str = "auto"
    lr: float = 1e-3
    weight_decay: float = 0.0
    epochs: int = 500
    patience: int | None = 100
    validation_fraction: float = 0.2
    random_state: int = 0
    device: str = "auto"
    budget: str | float = "default"
    verbose: bool = False
    _auto: ClassVar[Any] = AutoNodes  # what model="auto" fits
    checkpoints: ClassVar[Any] = None  # a folder: fit keeps its state there and goes on from it
    way_ = cast(Any, "whole")  # how it was trained, by the memory there was: one of `room.WAYS`
    reader_ = cast(Any, None)  # an `ehnn.tables.reader.Reader`, where fit was given a table

    if TYPE_CHECKING:

        @property
        def model_(self) -> Any:
            """Set by fit: a module, or what ``model="auto"`` fits."""

        @model_.setter
        def model_(self, value: Any) -> None: ...

    # ------------------------------------------------------------------ scikit-learn's protocol

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [f.name for f in dataclasses.fields(cls)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Change arguments of the constructor; an unknown name is a ValueError."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}{suggest(name, known)}; it has {known}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        given = {k: v for k, v in self.get_params().items() if v is not defaults[k]}
        changed = [f"{k}={short(v, 200)}" for k, v in given.items() if not _same(v, defaults[k])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Asked for by scikit-learn alone."""
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        kind = getattr(self, "_estimator_type", None)
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind is not None),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
        )

    # ------------------------------------------------------------------ training and predicting

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise _not_fitted(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _network(self) -> NetworkSpec:
        for name in ("validation_fraction", "dropout", "lr", "weight_decay"):
            value = plain(getattr(self, name))
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{name} must be a number, got {value!r}")
        seconds_of(plain(self.budget), 1, 1)
        if not 0 <= self.validation_fraction < 1:
            raise ValueError(f"validation_fraction must be in [0, 1), got {self.validation_fraction!r}")
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, (int, np.integer)):
            raise ValueError(f"random_state must be an integer, got {self.random_state!r}")
        if not 0 <= self.random_state < 2**63:
            raise ValueError(f"random_state must be from 0 to 2⁶³ − 1, got {self.random_state!r}")
        for name in ("verbose", "residual"):
            if isinstance(value := getattr(self, name, None), str):  # "no" counts as true
                raise ValueError(f"{name} must be True or False, got {value!r}")
        return NetworkSpec(self.model, as_count(self.width, "width", 1), self.dropout, self.options)

    def _unread(self) -> dict[str, str]:
        """Settings that `model` does not read, and what would read each."""
        return {}

    def _network_to_fit(self) -> NetworkSpec:
        """`_network`, after a ValueError for a setting that was given and that the model would ignore."""
        network, defaults = self._network(), {f.name: f.default for f in dataclasses.fields(self)}
        for name, reader in self._unread().items():
            value = getattr(self, name)
            if value is not defaults[name] and not _same(value, defaults[name]):
                model = f"model {self.model!r}" if isinstance(self.model, str) else "a model from a factory"
                raise ValueError(
                    f"{name}={short(value)} would be ignored: {model} has no such setting, {reader} has; "
                    f"leave {name} out"
                )
        return network

    def _device(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(self.device)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError, TypeError, ImportError) as error:
            why = str(error).partition("\n")[0]
            raise ValueError(f"device {self.device!r} is not available: {why}") from error
        if device.type == "meta":
            raise ValueError(f"device must be one that holds numbers: {_DEVICES}, got {self.device!r}")
        return device

    @property
    def leaderboard_(self) -> list[dict[str, Any]]:
        """Of ``model="auto"``: a row for each member, with its figures on labels that it was not trained on,
        the seconds it took, and its weight in the average; the last row is the average."""
        self._check_fitted()
        if isinstance(self.model_, nn.Module):
            raise AttributeError(f"leaderboard_ is there with model='auto', not with {self.model!r}")
        return self.model_.portfolio.leaderboard

    @property
    def left_out_(self) -> dict[str, str]:
        """Of ``model="auto"``: members without a part in the comparison, and why.

        ``budget``: they would take longer than the budget allows. ``behind``: they were far behind another
        member after some of the folds. ``time``: the fit took far longer than planned; see ``budget``.
        """
        self._check_fitted()
        if isinstance(self.model_, nn.Module):
            raise AttributeError(f"left_out_ is there with model='auto', not with {self.model!r}")
        return self.model_.portfolio.left_out

    def _auto_settings(self) -> dict[str, Any]:
        """The settings that `AutoNodes.fit` and the fits of other tasks read."""
        self.check_settings()
        network = {
            "model": "ehnn-mlp", "width": self.width, "dropout": self.dropout, "options": self.options,
            "epochs": as_count(self.epochs, "epochs", 1),
        }  # fmt: skip
        return {
            "budget": plain(self.budget), "device": str(self._device()), "seed": int(self.random_state),
            "quiet": not self.verbose, "label": type(self).__name__, "network": network,
        }  # fmt: skip

    def _config(self, validated: bool) -> TrainConfig:
        return TrainConfig(
            epochs=plain(self.epochs), lr=plain(self.lr), weight_decay=plain(self.weight_decay),
            patience=self.patience if validated else None,
        )  # fmt: skip

    def check_settings(self) -> None:
        """A ValueError for parameters that no `fit` would take, before there is anything to fit."""
        network = self._network_to_fit()
        self._config(validated=True)
        self._device()
        if self.model == "auto":
            network = replace(network, model="ehnn-mlp")
        if isinstance(network.model, str):
            with torch.device("meta"):  # where a network costs neither memory nor time
                network.nodes(1, 1)

    def _train(
        self, make: Callable[[], nn.Module], task: Task, validated: bool, part: str = "",
        seconds: float | None = None, turn: str = "",
    ) -> None:  # fmt: skip
        """Train, and keep the best validation epoch: ``model_``, ``history_``, ``best_epoch_``.

        Checkpoints, where there are any, go to the folder ``part`` of their folder. No epoch begins that
        would end after ``seconds``. ``turn`` says in the progress which of several trainings it is.
        """
        config = self._config(validated)
        parts = (type(self).__name__, self.model if isinstance(self.model, str) else "own model", part, turn)
        label = ", ".join(filter(None, parts))
        device, sampled = self._device(), self.way_ == "sampled"
        with within(self.way_), threads_with_cores():
            result = fit(
                (lambda: RunningPools(make())) if sampled else make,
                task,
                [int(self.random_state)],
                config if self.way_ == "whole" else replace(config, cuda_graph=False),
                directory=None if self.checkpoints is None else Path(self.checkpoints) / part,
                device=device,
                label=label,
                quiet=not self.verbose,
                seconds=seconds,
            )
        model = copy.deepcopy(result.runs.model)
        model.load_state_dict(model.state_dict() | {name: value[0] for name, value in result.best.items()})
        self.model_ = (model.model if isinstance(model, RunningPools) else model).eval()
        self.history_ = [
            {k: v[0] if isinstance(v, list) else v for k, v in row.items()} for row in result.history
        ]
        self.best_epoch_ = result.best_epoch[0]

    def _decided(self, logits: Tensor) -> Tensor:
        """``logits`` from which `predict` takes the class; see `class_bias` of the portfolio."""
        if isinstance(self.model_, nn.Module) or self.model_.portfolio.output.kind != "classes":
            return logits
        return logits + torch.from_numpy(self.model_.portfolio.bias)

    @torch.no_grad()
    def _outputs(self, h: Hypergraph, network: NetworkSpec) -> Tensor:
        """``[rows, d_out]`` of the fitted model, on the CPU; in chunks where memory is short."""
        device = next((p.device for p in self.model_.parameters()), torch.device("cpu"))
        with within(network.way(h, device)):
            return finite_outputs(self.model_.eval()(h.to(device)).cpu())

    # ------------------------------------------------------------------ saving and loading

    def _make(self) -> nn.Module:
        """A fresh model that fits the fitted attributes."""
        raise NotImplementedError

    def _about(self) -> dict[str, Any]:
        """Fitted attributes that go to JSON."""
        raise NotImplementedError

    def _tensors(self) -> dict[str, Tensor]:
        """Fitted attributes that are tensors."""
        raise NotImplementedError

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Inverse of `_about` and `_tensors`."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to the folder ``path``: ``model.json`` and a safetensors file.

        A model from a factory of your own is saved by its parameters; `load` then asks for the factory.
        """
        self._check_fitted()
        from ehnn import __version__

        params = (
            self.get_params() | {"hypergraph": None} if hasattr(self, "hypergraph") else self.get_params()
        )
        if not isinstance(self.model, str):
            params["model"] = None
        if isinstance(params.get("class_weight"), Mapping):  # JSON has keys of text alone
            params["class_weight"] = [[plain(k), v] for k, v in params["class_weight"].items()]
        about = {
            "class": type(self).__name__, "ehnn": __version__, "params": params, "fitted": self._about(),
            "history": self.history_, "best_epoch": self.best_epoch_,
        }  # fmt: skip
        if isinstance(self.model_, nn.Module):
            self._check_unchanged()
            weights = {f"model.{k}": v for k, v in self.model_.state_dict().items()}
        else:
            about["auto"], weights = self.model_.about(), self.model_.tensors()
        if self.reader_ is not None:
            about["reader"] = self.reader_.about()
            weights |= {f"reader.{k}": v.clone() for k, v in self.reader_.tensors().items()}
        storage.write(path, about, weights | self._tensors())

    def _check_unchanged(self) -> None:
        """A ValueError where parameters have changed after fit, so that a saved network could not be read."""
        if not isinstance(self.model, str):
            return
        try:
            with torch.device("meta"):
                storage.check_shapes(self.model_.state_dict(), self._make().state_dict())
        except ValueError as error:
            raise ValueError(f"parameters were changed after fit, fit again before save: {error}") from error

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str], *, model: Factory | None = None) -> Self:
        """A fitted estimator from `save`; ``model`` is the factory, where it was saved with one.

        It computes on the CPU, or on a GPU where it was made with ``device="auto"`` and there is one.
        """
        about, tensors = storage.read(path)
        if about.get("class") != cls.__name__:
            raise ValueError(f"{path} holds a {short(about.get('class'))}, not a {cls.__name__}")
        check(about, storage.ABOUT, f"{path} is damaged: its record")
        if about["params"].get("model") is None and model is None:
            raise ValueError(
                f"{path} was saved with a model of your own: pass its factory as load(path, model=...)"
            )
        try:
            return cls._rebuild(about, tensors, model)
        except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, ArithmeticError) as error:
            why = shortened(f"{type(error).__name__}: {error}")
            raise ValueError(f"{path} is damaged, or of another version: {why}") from error

    @classmethod
    def _rebuild(
        cls: type[Self], about: dict[str, Any], tensors: dict[str, Tensor], model: Factory | None
    ) -> Self:
        params = dict(about["params"])
        if params.get("model") is None:
            params["model"] = model
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = dict(params["class_weight"])
        found = cls(**params)
        found._restore(about["fitted"], tensors)
        found.history_, found.best_epoch_ = about["history"], about["best_epoch"]
        if "reader" in about:
            known = {k[7:]: v for k, v in tensors.items() if k.startswith("reader.")}
            found.reader_ = Reader.restore(about["reader"], known)
        if "auto" in about:
            device = str(found._device()) if found.device == "auto" else "cpu"
            found.model_ = found._auto.restore(about["auto"], tensors, device)
            vars(found)["n_features_in_"] = found.model_.widths[0]
            return found
        weights = {k[6:]: v for k, v in tensors.items() if k.startswith("model.")}
        if isinstance(found.model, str):
            with torch.device("meta"):  # where sizes that are not those of the weights cost no memory
                storage.check_shapes(weights, found._make().state_dict())
        with OwnRandom(0):  # leaves the generators of the process as they are
            fresh = found._make()
        fresh.load_state_dict(weights)
        on_gpu = found.device == "auto" and torch.cuda.is_available()
        found.model_ = fresh.to("cuda" if on_gpu else "cpu").eval()
        return found
