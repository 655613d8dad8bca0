"""Counts of the most frequent words of short texts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import chain

import numpy as np

# Stop words, which say nothing about the words beside them; a short list on purpose.
_STOP = """
about after all an and any are as at be been but by can do for from had has have he her him his how
if in into is it its me more most my no nor not of off on once only or other our out over own she so
some such than that the their them then there these they this to too under until up us very was we
were what when where which while who why will with you your
"""
STOP_WORDS = frozenset(_STOP.split())
_WORD = re.compile(r"[a-z0-9_]{2,}")


def words_of(text: str) -> list[str]:
    """The words of two or more characters, in lower case and without accents or stop words."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return [word for word in _WORD.findall(plain) if word not in STOP_WORDS]


def bag_of_words(texts: list[str], size: int) -> tuple[np.ndarray, list[str]]:
    """``[len(texts), m]`` float32 counts of the ``m ≤ size`` most frequent words, and those words in order.

    Of equally frequent words the alphabetically first are kept; columns are in alphabetical order.
    """
    split = list(map(words_of, texts))
    frequency = Counter(chain.from_iterable(split))
    kept = sorted(sorted(frequency, key=lambda word: (-frequency[word], word))[:size])
    number = {word: i for i, word in enumerate(kept)}
    lengths = np.fromiter(map(len, split), dtype=np.int64, count=len(split))
    column = np.fromiter((number.get(w, -1) for w in chain.from_iterable(split)), dtype=np.int64)
    row = np.repeat(np.arange(len(split)), lengths)[column >= 0]
    counts = np.zeros((len(texts), len(kept)), dtype=np.float32)
    np.add.at(counts, (row, column[column >= 0]), 1.0)
    return counts, kept
