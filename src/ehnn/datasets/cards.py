"""Cards of datasets: source, licence, size and files, known before the data are read."""

from __future__ import annotations

from dataclasses import dataclass

PAPER_SPLITS = (
    "random 50 / 25 / 25 % of the labelled nodes for training / validation / test, new for each run"
)


@dataclass(frozen=True)
class File:
    """One raw file. ``path`` is relative to a data folder, to the cache and to a mirror alike.

    ``sha256`` is None where the sum is not known; such a file is checked by its length, ``size`` in bytes if
    known, and by its reader.
    ``public`` says whether the paper's repository is expected to have it.

    >>> File("zoo/zoo.edges", size=11866).public
    True
    """

    path: str
    sha256: str | None = None
    size: int | None = None
    public: bool = True


@dataclass(frozen=True)
class Statistics:
    """Counts of ``nodes``, ``hyperedges``, ``features``, ``classes`` and ``incidences``; None: not known.

    >>> print(Statistics(101, 43, 16, 7, 1717))
    101 nodes, 43 hyperedges, 1717 incidences, 16 features, 7 classes
    """

    nodes: int
    hyperedges: int
    features: int
    classes: int
    incidences: int | None

    def __str__(self) -> str:
        counts = {
            "nodes": self.nodes,
            "hyperedges": self.hyperedges,
            "incidences": self.incidences,
            "features": self.features,
            "classes": self.classes,
        }
        return ", ".join(f"{'unknown' if n is None else n} {what}" for what, n in counts.items())


@dataclass(frozen=True)
class Card:
    """The description of a dataset: source, licence, counts and files.

    Attributes:
        name, title: for programs and for people.
        source, licence: where the data come from, and under which terms.
        statistics: the counts that reading must give.
        features: what the features of the nodes are.
        files: all raw files.
        splits: how published results split the data.
        notes: what else a user should know.

    >>> from ehnn.datasets import card
    >>> card("zoo").licence
    'CC BY 4.0 (UCI Machine Learning Repository)'
    """

    name: str
    title: str
    source: str
    licence: str
    statistics: Statistics
    features: str
    files: tuple[File, ...]
    splits: str = PAPER_SPLITS
    notes: str = ""

    def describe(self) -> str:
        """The card as readable lines, one field each."""
        rows = [
            ("name", self.name),
            ("title", self.title),
            ("source", self.source),
            ("licence", self.licence),
            ("statistics", str(self.statistics)),
            ("features", self.features),
            ("splits", self.splits),
            ("notes", self.notes),
        ]
        rows += [("file", f"{f.path}  sha256 {f.sha256 or 'not known'}") for f in self.files]
        return "\n".join(f"{key:<11} {value}" for key, value in rows if value)
