"""Which sets of nodes belong together?"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ehnn._utils.validation import as_count, short
from ehnn.hypergraph import Hypergraph
from ehnn.hypergraph.roles import refuse_roles
from ehnn.tasks.hyperedges import (
    HyperedgePrediction,
    auroc,
    concatenate,
    sample_negatives,
    split_hyperedges,
)
from ehnn.tasks.hyperedges.affinity import Affinity
from ehnn.tasks.hyperedges.scoring import Scored, answers_of
from ehnn.tasks.hyperedges.sets import keep_edges, same_sets

from .base import Estimator, Self, all_or_nothing
from .doubts import warn_of_gaps
from .features import Features
from .finite import finite_outputs
from .from_tables import is_table, reader_of
from .inputs import as_hypergraph, node_numbers
from .labels import as_list, has_names, plain
from .models import NetworkSpec
from .portfolio.budget import seconds_of
from .portfolio.fit_nodes import set_hashes
from .scorers import MeanScorer, Scorer, make_scorer
from .set_members import SetMembers
from .storage import hypergraph_about, hypergraph_from, hypergraph_tensors
from .weights import row_weights, warn_unread

NETWORK = "EHNN-MLP"
"""The mean of the networks of ``model="auto"`` in ``leaderboard_``."""
NETWORKS = {"fast": 1, "default": 2, "best": 4}
"""Networks of ``model="auto"`` by its budget, each trained from other random weights."""
_SEEDS_APART = 1000
_PARTS, _READ = 10, 200_000
"""Number of parts; small hypergraphs get more, as long as all parts together read at most _READ
incidences."""
_MOST_HELD_OUT = 1024
"""Most held-out hyperedges that select the epoch; more would cost time and hardly improve the choice."""
_NEGATIVES, _MOST_EACH = 2048, 50
"""About so many sampled sets stand beside the held-out hyperedges, at most so many for each of them."""


@dataclass(eq=False, repr=False, kw_only=True)
class HyperedgePredictor(Estimator):
    """Score sets of nodes: is a set, of any size, a hyperedge that is missing from the data?

    `fit` takes a hypergraph without labels and learns to tell its hyperedges from sampled sets of the same
    sizes. `decision_function` scores candidate sets, ``[num_candidates]``, and `predict_proba` gives
    ``[num_candidates, 2]``, whose second column is for a hyperedge. Probabilities rank candidates; they are
    not frequencies.

    A part of the hyperedges (``validation_fraction``, at most 1024) is held out to select the epoch. With
    ``model="auto"`` two networks EHNN-MLP (see ``budget``) are trained from different random weights. Their
    mean is compared on the held-out hyperedges with logistic regression on
    `ehnn.tasks.hyperedges.evidence` (co-membership, Adamic–Adar, common neighbours, degrees, …), each alone
    and all together. The best is taken, or the mean of both (``leaderboard_``). Without held-out hyperedges
    it is the mean of the networks.

    A hyperedge and its duplicates are removed from the input of the model while it is scored, in training (in
    folds), in validation and in prediction. In a large hypergraph, a fixed tenth of the hyperedges is removed
    with it.

    Args:
        sketch: channels of `ehnn.estimators.sketches.sketch_features`, which distinguish nodes by their
            co-members; 0 for none.
        negatives: kind of negative samples: ``"uniform"``, ``"degree"``, ``"hard"`` or ``"mixed"``; see
            `ehnn.tasks.hyperedges.sample_negatives`.
        affinity: whether the model reads `ehnn.tasks.hyperedges.affinity` of each candidate: how much more
            often its nodes meet than their degrees say, from eigenvectors of the matrix of meetings.
        batch_size: twice the most real sets per step, and the most candidates that are scored at once.
        budget: of ``model="auto"``: ``"fast"`` trains one network, ``"default"`` two and ``"best"`` four, and
            ``epochs`` and ``patience`` end the training. A number: two, and the seconds after which no
            network is trained further.

    >>> ring = [[i, (i + 1) % 12, (i + 2) % 12] for i in range(12)]
    >>> model = HyperedgePredictor(width=16, epochs=5).fit(ring)
    >>> model.predict_proba([[0, 1], [3, 9, 6, 0]]).shape
    (2, 2)

    See `Estimator` for the other parameters. ``features="auto"`` means given (if any) and structural ones;
    sketches come on top.
    """

    _estimator_type = "classifier"

    members_: ClassVar[SetMembers | None] = None  # set by fit with model="auto"
    networks_ = 1  # set by fit
    model: Any = "auto"
    dropout: float = 0.3
    lr: float = 3e-3
    epochs: int = 100
    patience: int | None = 15
    validation_fraction: float = 0.1
    negatives: str = "mixed"
    batch_size: int = 4096
    sketch: int = 32
    affinity: bool = True

    @all_or_nothing
    def fit(self: Self, h: Any, y: None = None) -> Self:
        """Learn what the hyperedges of ``h`` have in common; ``y`` is not used.

        Args:
            h: a hypergraph, in any form that `as_hypergraph` takes.
        """
        assert isinstance(self, HyperedgePredictor)
        network, device = self._network_to_fit(), self._device()
        batch_size, sketch = as_count(self.batch_size, "batch_size", 2), as_count(self.sketch, "sketch")
        allowed = self._seconds()
        graph = as_hypergraph(h).to("cpu")
        refuse_roles(graph.roles, type(self).__name__)
        warn_of_gaps(h, graph)
        self.reader_ = reader_of(h, type(self).__name__)
        if graph.num_members != 1:
            raise ValueError(f"one hypergraph is expected, got a batch of {graph.num_members}")
        warn_unread(graph, type(self).__name__)
        graph = graph.replace(y=None, edge_weight=None, incidence_weight=None, edge_names=None)
        held_out = min(self.validation_fraction, _MOST_HELD_OUT / max(graph.num_edges, 1))
        split = split_hyperedges(graph, (1 - held_out, held_out, 0.0), int(self.random_state))
        self.features_ = Features.learn(
            split.known, self.features, auto="both", sketch=sketch, seed=int(self.random_state)
        )
        self.n_features_in_ = self.features_.channels
        task = HyperedgePrediction(
            split.known, split.valid, negatives=self.negatives, seed=int(self.random_state),
            prepare=lambda known: network.prepare(self.features_.apply(known)).to(device),
            batch_size=batch_size // 2, affinity=self.affinity,
        )  # fmt: skip
        if task.valid is not None:
            task.valid = _against_many(task.valid, split.known, split.valid, task)
        start = time.perf_counter()
        self._train_networks(task, allowed)
        seconds = time.perf_counter() - start
        self.hypergraph_ = graph
        vars(self).pop("members_", None)
        if self.model == "auto" and task.valid is not None:
            self._compare(task, split.known, seconds)
        return self

    def _train_networks(self, task: HyperedgePrediction, allowed: float | None) -> None:
        """Train one network, or several whose mean is ``model_``; ``history_`` is that of the first."""
        named = self.budget if isinstance(self.budget, str) else "default"
        self.networks_ = NETWORKS[named] if self.model == "auto" else 1
        trained, start = [], time.perf_counter()
        for i in range(self.networks_):
            one = copy.copy(self)
            one.random_state = (int(self.random_state) + i * _SEEDS_APART) % 2**63
            left = None if allowed is None else allowed - (time.perf_counter() - start)
            one._train(
                self._make_one, task, task.valid is not None, part=f"network-{i + 1}" if i else "",
                seconds=None if left is None else max(0.0, left) / (self.networks_ - i),
                turn=f"network {i + 1} of {self.networks_}" if self.networks_ > 1 else "",
            )  # fmt: skip
            trained.append(one)
        self.history_, self.best_epoch_ = trained[0].history_, trained[0].best_epoch_
        models = [one.model_ for one in trained]
        self.model_ = models[0] if len(models) == 1 else MeanScorer(models).eval()

    def _seconds(self) -> float | None:
        """The seconds that the networks may take; None for a named budget or a single model."""
        seconds = seconds_of(plain(self.budget), 1, 1)
        return seconds if self.model == "auto" and not isinstance(self.budget, str) else None

    def _compare(self, task: HyperedgePrediction, known: Hypergraph, seconds: float) -> None:
        """Choose among the networks, which took ``seconds``, and simple answers on held-out hyperedges."""
        assert task.valid is not None
        asked = task.valid.candidates.to("cpu")
        scores = self._scores(task.valid, asked, torch.arange(asked.num_edges), self._near(known))
        vars(self)["members_"] = SetMembers.fit(task.train, task.valid, NETWORK, scores, seconds)

    def _network(self) -> NetworkSpec:
        network = super()._network()
        return replace(network, model="ehnn-mlp") if network.model == "auto" else network

    @property
    def leaderboard_(self) -> list[dict[str, Any]]:
        """Of ``model="auto"``: a row for each member, with its AUROC on held-out hyperedges."""
        self._check_fitted()
        if self.members_ is None:
            raise AttributeError("leaderboard_ is there with model='auto' and held-out hyperedges")
        return self.members_.leaderboard

    @property
    def left_out_(self) -> dict[str, str]:
        """Of ``model="auto"``: nothing, because all members are compared."""
        self.leaderboard_  # noqa: B018 - an error where nothing was compared
        return {}

    def _make(self) -> nn.Module:
        if self.networks_ == 1:
            return self._make_one()
        return MeanScorer([self._make_one() for _ in range(self.networks_)])

    def _make_one(self) -> nn.Module:
        return make_scorer(
            self._network(), self.features_.channels, self.features_.edge_width > 0, self.affinity
        )

    @property
    def classes_(self) -> np.ndarray:
        """0: not a hyperedge, 1: a hyperedge."""
        return np.arange(2)

    # ------------------------------------------------------------------ predict

    def decision_function(self, candidates: Any, h: Any = None) -> np.ndarray:
        """``[num_candidates]`` scores: the larger, the more likely a hyperedge.

        Args:
            candidates: collections of nodes (names, or numbers where there are no names), or a Hypergraph
                over the same nodes. Those that are hyperedges of the input are scored as if they were not.
            h: the known hyperedges, in place of those of `fit`.
        """
        self._check_fitted()
        known = self.hypergraph_ if h is None else as_hypergraph(h).to("cpu")
        refuse_roles(known.roles, type(self).__name__)
        asked = as_candidates(known, candidates)
        scores = torch.zeros(asked.num_edges, dtype=torch.float64)
        for kept, rows in _parts(known, asked):
            rest = known if bool(kept.all()) else keep_edges(known, kept)
            scores[rows] = self._judged(rest, asked, rows)
        return finite_outputs(scores).numpy()

    def _judged(self, rest: Hypergraph, asked: Hypergraph, rows: Tensor) -> Tensor:
        """``[rows]``: scores of some candidates by what was chosen."""
        members = self.members_
        network = None
        if members is None or members.reads(NETWORK):
            network = self._scores(self._ready(rest), asked, rows, self._near(rest))
        if members is None:
            assert network is not None
            return network
        chosen = torch.zeros(asked.num_edges, dtype=torch.bool).index_fill(0, rows, True)
        return members.scores(rest, keep_edges(asked, chosen), network)

    @torch.no_grad()
    def _scores(self, h: Hypergraph, asked: Hypergraph, rows: Tensor, near: Affinity | None) -> Tensor:
        """``[rows]``: scores of some candidates on ``h``, which is encoded once."""
        model = self.model_.eval()
        known = isinstance(model, (Scorer, MeanScorer))
        judge: Any = partial(model.score, model.encoder(h)) if known else model
        found = []
        for part in rows.split(int(self.batch_size)):
            chosen = torch.zeros(asked.num_edges, dtype=torch.bool).index_fill(0, part, True)
            found.append(judge(Scored.of(h, keep_edges(asked, chosen), affinity=near)))
        return torch.cat(found).squeeze(1).double().cpu()

    def _near(self, known: Hypergraph) -> Affinity | None:
        return Affinity.of(known) if self.affinity else None

    def _ready(self, known: Hypergraph) -> Hypergraph:
        """``known`` with the features that the model reads, where the model is."""
        device = next((p.device for p in self.model_.parameters()), torch.device("cpu"))
        return self._network().prepare(self.features_.apply(known)).to(device)

    def predict_proba(self, candidates: Any, h: Any = None) -> np.ndarray:
        """``[num_candidates, 2]`` probability that a candidate is none, and that it is a hyperedge.

        Real and sampled sets have the same weight in training, so use it to rank where hyperedges are rare.
        """
        yes = 1 / (1 + np.exp(-self.decision_function(candidates, h).clip(-500, 500)))
        return np.stack([1 - yes, yes], 1)

    def predict(self, candidates: Any, h: Any = None) -> np.ndarray:
        """``[num_candidates]`` 1 where a candidate is more likely a hyperedge than not, else 0."""
        return (self.decision_function(candidates, h) > 0).astype(np.int64)

    def score(self, candidates: Any, y: Any, h: Any = None, sample_weight: Any = None) -> float:
        """AUROC of the candidates; ``y`` is 1 for a hyperedge and 0 for none.

        ``sample_weight`` has a number for each candidate; see `ehnn.tasks.hyperedges.auroc`. Where candidates
        have names, ``y`` and ``sample_weight`` may be mappings or Series with these names.
        """
        answers = as_list(_by_name(candidates, y, "y"))
        weight = row_weights(_by_name(candidates, sample_weight, "sample_weight"), len(answers))
        return auroc(self.decision_function(candidates, h), answers, weight)

    # ------------------------------------------------------------------ saving

    def _about(self) -> dict[str, Any]:
        members = {} if self.members_ is None else {"compared": self.members_.about()}
        about = {"features": self.features_.about(), "affinity": self.affinity, "networks": self.networks_}
        return about | members | hypergraph_about(self.hypergraph_)

    def _tensors(self) -> dict[str, Tensor]:
        return self.features_.tensors() | hypergraph_tensors(self.hypergraph_)

    def _restore(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.features_ = Features.restore(about["features"], tensors)
        self.n_features_in_ = self.features_.channels
        self.affinity = bool(about.get("affinity", False))  # not in older files
        self.networks_ = about.get("networks", 1)  # neither
        if self.networks_ not in (1, *NETWORKS.values()):
            known = sorted(NETWORKS.values())
            raise ValueError(f"networks must be one of {known}, got {short(self.networks_)}")
        self.hypergraph_ = hypergraph_from(about, tensors)
        if about.get("compared") is not None:
            vars(self)["members_"] = SetMembers.restore(about["compared"])


def _against_many(
    valid: Scored, known: Hypergraph, positives: Hypergraph, task: HyperedgePrediction
) -> Scored:
    """``valid`` with more sampled sets: against few, several epochs have an AUROC of 100 % by chance."""
    each = max(1, min(_MOST_EACH, _NEGATIVES // positives.num_edges))
    repeated = reduce(concatenate, [positives] * each)
    seed = task.seed * 1_000_003 + 6  # not one of those of training
    wrong = sample_negatives(known, repeated, task.negatives, seed=seed)
    near = Affinity.of(known) if task.affinity else None
    asked = concatenate(positives, wrong), answers_of(positives, wrong)
    return valid.asked(*asked, near).replace(lasting=True)


def as_candidates(h: Hypergraph, candidates: Any) -> Hypergraph:
    """Sets of nodes given by name or number, as a Hypergraph over the nodes of ``h``."""
    if _is_named(candidates):
        candidates = as_hypergraph(candidates)
    if isinstance(candidates, Hypergraph):
        refuse_roles(candidates.roles, "a candidate")
        found = _renumbered(h, candidates.to("cpu"))
    else:
        if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
            raise ValueError(f"candidates must be a list of sets of nodes, got {short(candidates)}")
        _refuse_matrix(candidates)
        sets = list(candidates)
        wrong = next((s for s in sets if isinstance(s, (str, bytes)) or not isinstance(s, Iterable)), None)
        if wrong is not None:
            raise ValueError(f"a candidate must be a set of nodes, got {short(wrong)}")
        lists = [list(s) for s in sets]
        nodes = node_numbers(h, [v for one in lists for v in one], "a candidate's")
        edge = torch.repeat_interleave(torch.tensor([len(one) for one in lists], dtype=torch.int64))
        found = Hypergraph.from_incidence(torch.stack([nodes, edge]), h.num_nodes, len(lists))
    empty = (found.orders == 0).nonzero()
    if len(empty):
        raise ValueError(f"candidate {int(empty[0])} (from 0) has no nodes")
    return found


def _refuse_matrix(candidates: Any) -> None:
    """A ValueError for an array that is an incidence matrix: each row would be a set of the nodes 0 and 1."""
    shape: Any = getattr(candidates, "shape", ())
    if len(shape) == 2 and shape[1] > 2 and bool(((candidates == 0) | (candidates == 1)).all()):
        raise ValueError(
            f"candidates must be a list of sets of nodes, got an array of 0 and 1 of shape {tuple(shape)}; "
            "an incidence matrix is given as as_hypergraph(matrix)"
        )


def _names_of(candidates: Any) -> list[Any] | None:
    """The names of candidates in their order; None where they have none."""
    if has_names(candidates) and not is_table(candidates):  # a Series of sets
        return candidates.index.tolist()
    if isinstance(candidates, Hypergraph) or _is_named(candidates):
        names = as_hypergraph(candidates).edge_names
        return None if names is None else [plain(name) for name in names]
    return None


def _is_named(candidates: Any) -> bool:
    """Whether candidates are not a list but a table, a mapping or a sparse matrix, as `fit` takes them."""
    table = is_table(candidates) and not isinstance(candidates, str)  # a name is no list of sets
    return table or isinstance(candidates, Mapping) or hasattr(candidates, "tocoo")


def _by_name(candidates: Any, given: Any, what: str) -> Any:
    """The values ``given`` for the candidates, in the order of the candidates if both have names."""
    names = _names_of(candidates) if isinstance(given, Mapping) or has_names(given) else None
    if names is None:
        return given
    pairs = (
        given.items() if isinstance(given, Mapping) else zip(given.index, as_list(given, what), strict=True)
    )
    found = {plain(name): value for name, value in pairs}
    missing = [name for name in names if name not in found]
    if missing or len(found) < len(given):
        told = f"{short(missing[0])} has none" if missing else "one is there twice"
        raise ValueError(f"{what} must have each name of a candidate once: {told}")
    return [found[name] for name in names]


def _renumbered(h: Hypergraph, candidates: Hypergraph) -> Hypergraph:
    """Candidates over the nodes of ``h``: by name, or by number where they have no names."""
    if candidates.node_names is not None:
        nodes = node_numbers(h, candidates.node_names, "a candidate's")
        index = torch.stack([nodes[candidates.index[0]], candidates.index[1]])
        return Hypergraph.from_incidence(index, h.num_nodes, candidates.num_edges)
    if candidates.num_nodes != h.num_nodes:
        raise ValueError(f"candidates must be over {h.num_nodes} nodes, got {candidates.num_nodes}")
    return candidates


def _parts(known: Hypergraph, asked: Hypergraph) -> list[tuple[Tensor, Tensor]]:
    """(hyperedges of the input that stay, candidates), so that no candidate is in the input when it is
    scored.

    Hyperedges of the input are removed in parts that depend on the input alone, so the score of a candidate
    does not depend on the other candidates.
    """
    if not asked.num_edges:
        return []
    number, wanted = same_sets(known, asked)
    place = np.unique(set_hashes(known), return_inverse=True)[1]
    count = int(place.max(initial=0)) + 1
    size = max(1, count // max(_PARTS, _READ // max(1, known.num_incidences)))
    part = torch.from_numpy(place // size)
    of_set = torch.full((int(torch.cat([number, wanted]).max()) + 1,), -1).index_copy_(0, number, part)
    own = of_set[wanted]
    return [(part != p, (own == p).nonzero().squeeze(1)) for p in own.unique().tolist()]
