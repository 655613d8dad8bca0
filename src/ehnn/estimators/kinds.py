"""What classifiers and regressors of nodes and of hypergraphs have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ehnn._utils.moved import renamed_argument

from .doubts import warn_of_doubts
from .labels import hidden_minus_ones, is_matrix, refuse_lists_of_names
from .targets import Classes, MultiLabel, Numbers, Targets


@dataclass(eq=False, repr=False, kw_only=True)
class Classifies:
    """One of several classes for each row, or several yes/no labels.

    Args:
        class_weight: a mapping from classes to weights, ``"balanced"`` (each class weighs the same), or None.
    """

    _estimator_type = "classifier"
    class_weight: Any = None

    if TYPE_CHECKING:  # of the estimator that this is mixed into
        targets_: Targets = field(init=False)
        reader_: Any = field(init=False)

        def _check_fitted(self) -> None: ...
        def _logits(self, h: Any) -> Tensor: ...
        def _decided(self, logits: Tensor) -> Tensor: ...

    def _learn(self, values: list[Any], rows: np.ndarray | None = None) -> Targets:
        refuse_lists_of_names(values)
        if is_matrix(values):
            return MultiLabel.learn(values)
        found = Classes.learn(values)
        if self.reader_ is None:  # remarks on the labels of a table are among those of the table
            warn_of_doubts(values)
        return found

    def _given(self, y: Any, own: bool = False) -> Any:
        """Labels as the user gives them; ``own``: they are those of the hypergraph."""
        return hidden_minus_ones(y, own=own)

    @property
    def classes_(self) -> np.ndarray:
        """The classes; numbers of the columns where there are several labels for each row."""
        self._check_fitted()
        targets = self.targets_
        return targets.array if isinstance(targets, Classes) else np.arange(targets.num_outputs)

    @renamed_argument("data", "h")
    def predict_proba(self, h: Any) -> np.ndarray:
        """``[rows, classes]`` probabilities, a row for each of `predict`; several labels each by itself."""
        return self.predict_with_proba(h)[1]

    def predict_with_proba(self, h: Any) -> tuple[np.ndarray, np.ndarray]:
        """What `predict` and `predict_proba` give, in the time of one of them.

        >>> import ehnn
        >>> edges, known = [["ann", "bob", "cy"], ["dan", "eve"], ["cy", "bob"]], {"ann": "a", "dan": "b"}
        >>> classes, shares = ehnn.NodeClassifier(budget="fast").fit(edges, known).predict_with_proba(edges)
        >>> classes.shape, shares.shape
        ((5,), (5, 2))
        """
        logits = self._logits(h)
        assert not isinstance(self.targets_, Numbers)
        return self.targets_.predict(self._decided(logits)), self.targets_.proba(logits)


class Regresses:
    """One or several numbers for each row."""

    _estimator_type = "regressor"

    def _given(self, y: Any, own: bool = False) -> Any:
        """Numbers as the user gives them."""
        return hidden_minus_ones(y, numbers=True)

    def _learn(self, values: list[Any], rows: np.ndarray | None = None) -> Targets:
        return Numbers.learn(
            [v for v, w in zip(values, rows, strict=True) if w] if rows is not None else values
        )
