"""The cards of all datasets, and lookup by name."""

from __future__ import annotations

import dataclasses
import re

from ehnn._utils.optional import suggest

from .cards import Card, File, Statistics

_PAPER = "the EHNN paper's repository (github.com/jw9730/ehnn), collected by AllSet (Chien et al., 2022)"
_UNKNOWN = "none stated where the file comes from"
_UCI = "CC BY 4.0 (UCI Machine Learning Repository)"
_MIRROR_ONLY = (
    "A repackaged file without a public address: put it into the data folder, or name a mirror that has it."
)
_NOISE = "one-hot label padded with zeros to 100 columns, plus Gaussian noise of standard deviation {}"


def _content_files(
    folder: str, content: tuple[str | None, int | None], edges: tuple[str, int]
) -> tuple[File, ...]:
    stem = f"{folder}/{folder}"
    return File(f"{stem}.content", *content), File(f"{stem}.edges", *edges)


_ZOO = Card(
    "zoo",
    "Zoo: animals, hyperedges are shared attribute values",
    f"UCI Zoo, from {_PAPER}",
    _UCI,
    Statistics(101, 43, 16, 7, 1717),
    "the 16 attributes as they stand in the file",
    _content_files(
        "zoo",
        ("a7cd1c38447b54acd3592c5346af64a20580cff73464067f3be9d3f06f76b610", 9200),
        ("78907f834a28e4e52758b165883ac348e0f0ff6ba7a0a243e5cd08231d4f311b", 11866),
    ),
    notes="The last 7 hyperedges are the 7 classes: a model that tells hyperedges apart knows the labels.",
)
_NEWS = Card(
    "20news",
    "20Newsgroups: documents, hyperedges are 100 words",
    f"20newsW100 (S. Roweis), from {_PAPER}",
    _UNKNOWN,
    Statistics(16242, 100, 100, 4, 65451),
    "the 100 word columns as they stand in the file",
    _content_files(
        "20newsW100",
        ("e0a8193672f027c4eea54258a069473dd0bdcf3425ff3c6b50429c54ba5c18de", 3422063),
        ("b427937f20ab794e75e0a206f70bbe051ef60807a84f42cfa6cf7ee060acdf16", 742286),
    ),
)
_MUSHROOM = Card(
    "mushroom",
    "Mushroom: edible or not, hyperedges are shared attribute values",
    f"UCI Mushroom, from {_PAPER}",
    _UCI,
    Statistics(8124, 298, 22, 2, 40620),
    "the 22 attributes as they stand in the file",
    _content_files(
        "Mushroom",
        ("09dbb05cef3b7a98267a42daaf81d0c2f9c4453427dba33b1943eb4438828dc0", 849432),
        ("116382d50f3bfc1feb16c0f104c76220ca4c56b56fda2b354cbd0bf09ebfb7f9", 400650),
    ),
)
_NTU = Card(
    "ntu2012",
    "NTU2012: 3D objects, hyperedges are nearest neighbours in feature space",
    f"NTU 3D model dataset (Chen et al., 2003), from {_PAPER}",
    _UNKNOWN,
    Statistics(2012, 2012, 100, 67, 10060),
    "100 view features (GVCNN, MVCNN) as they stand in the file",
    _content_files(
        "NTU2012",
        ("f59d6f62c94d1ef4861a95ddcd76c24411d7deb6fd4f2777e40ea83563630d2c", 2788407),
        ("3de34493d0e37b2d1b7d5df35e0d9246e4d3dff0de39ec4fa7f16abdfacee8b8", 95185),
    ),
)
_MODELNET = Card(
    "modelnet40",
    "ModelNet40: 3D objects, hyperedges are nearest neighbours in feature space",
    f"Princeton ModelNet (Wu et al., 2015), from {_PAPER}",
    "academic use only (Princeton ModelNet)",
    Statistics(12311, 12311, 100, 40, 61555),
    "100 view features (GVCNN, MVCNN) as they stand in the file",
    _content_files(
        "ModelNet40",
        (None, None),
        ("e6e0ae37a39369b4a55a230554148e0187c58ee47f6e650b62f5436c6eac4048", 683298),
    ),
    notes="The sum of ModelNet40.content is not known; it is checked by its length and the statistics.",
)
_YELP_FILES = (
    "yelp_restaurant_latlong.csv",
    "yelp_restaurant_locations.csv",
    "yelp_restaurant_name.csv",
    "yelp_restaurant_business_stars.csv",
    "yelp_restaurant_incidence_H.csv",
)
_YELP = Card(
    "yelp",
    "Yelp: restaurants, hyperedges are the restaurants one user went to",
    f"Yelp Open Dataset, from {_PAPER}",
    "Yelp Dataset Terms of Use (academic, no redistribution)",
    Statistics(50758, 679302, 1862, 9, None),
    "latitude, longitude, one-hot state, one-hot city, counts of the 1000 most frequent words of the names",
    tuple(File(f"yelp/{name}") for name in _YELP_FILES),
    notes=(
        "Labels are the stars in half steps (2 to 10). The sums of the files are not known; they are checked "
        "by their length and the statistics. The stop words are a short list of our own, so a few of the "
        "1000 words may differ from AllSet's."
    ),
)
_HOUSE = Card(
    "house-1",
    "House committees (σ = 1): members of the US House, hyperedges are committees, labels are parties",
    f"A. Benson's collection (Chodrow et al., 2021), from {_PAPER}",
    _UNKNOWN,
    Statistics(1290, 341, 100, 2, 11843),
    _NOISE.format("1"),
    (
        File(
            "house-committees/hyperedges-house-committees.txt",
            "d45b8b4532034c78232e6a1abb71b28777818b51035de84c5c14d9de2264432d",
            47768,
        ),
        File(
            "house-committees/node-labels-house-committees.txt",
            "3611f1fb43b0caa8a56efd0bfbdfec061a9732322b0eca45d7b05bf83f8ed7a2",
            2580,
        ),
    ),
    notes="A node listed twice in one hyperedge (20 times in the file) counts once.",
)
_WALMART = Card(
    "walmart-1",
    "Walmart trips (σ = 1): products, hyperedges are baskets, labels are departments",
    f"A. Benson's collection (Amburg et al., 2020; Kaggle Walmart Trip Type), from {_PAPER}",
    _UNKNOWN,
    Statistics(88860, 69906, 100, 11, 460630),
    _NOISE.format("1"),
    (
        File(
            "walmart-trips/hyperedges-walmart-trips.txt",
            "641e580c64710d30da7621ae326137dbdcf503f10cf06fd39ab20b0e1b39ec00",
            2484156,
        ),
        File(
            "walmart-trips/node-labels-walmart-trips.txt",
            "6799bfdc85df02f62a9f8b8ae8c34a61763e69eb3c4799cee12461cefacc58ed",
            185665,
        ),
    ),
)
_HYPERGCN = "Cora as in HyperGCN (Yadati et al., 2019; github.com/malllabiisc/HyperGCN)"
_COCITATION = Card(
    "cora-cocitation",
    "Cora co-citation: papers, hyperedges are the papers one paper cites",
    _HYPERGCN,
    "Apache 2.0 (the HyperGCN repository)",
    Statistics(2708, 1579, 1433, 7, 4786),
    "bag of 1433 words",
    (
        File(
            "extra/cora-cocitation.npz",
            "429b3750bb47af04e889280767bf685606faf42cb27d9459b6924364860af476",
            95274,
            False,
        ),
    ),
    notes=_MIRROR_ONLY,
)
_COAUTHORSHIP = Card(
    "cora-coauthorship",
    "Cora co-authorship: papers, hyperedges are the papers of one author",
    _HYPERGCN,
    "Apache 2.0 (the HyperGCN repository)",
    Statistics(2708, 1072, 1433, 7, 4585),
    "bag of 1433 words",
    (
        File(
            "extra/cora-coauthorship.npz",
            "da371c6b2229ca1c244433e33792d72172158788ad17c5cf8151ef2e925cf277",
            95877,
            False,
        ),
    ),
    notes=_MIRROR_ONLY,
)
_CONGRESS = Card(
    "congress-bills",
    "Congress bills: members of the US Congress, hyperedges are the sponsors of one bill, labels are parties",
    "P. Chodrow's HypergraphModularity (github.com/PhilChodrow/HypergraphModularity)",
    "MIT (the HypergraphModularity repository)",
    Statistics(1718, 84799, 0, 2, 733994),
    "none (x is None)",
    (
        File(
            "extra/congress-bills.npz",
            "b45614f5e9be36b4a7101a10bcb0fe113898c23dffdeebc6fb6bf890287c38f8",
            1533406,
            False,
        ),
    ),
    notes=_MIRROR_ONLY,
)


def _scholp(name: str, title: str, statistics: Statistics, sha256: str, size: int) -> Card:
    return Card(
        name,
        title,
        "A. Benson's ScHoLP collection (Benson et al., 2018; github.com/arbenson/ScHoLP-Data)",
        "Stack Exchange content, CC BY-SA; none stated for the collection",
        statistics,
        "none (x is None)",
        (File(f"scale/{name}.npz", sha256, size, False),),
        splits="none: unlabelled",
        notes=f"Or put the collection's {name}.tar.gz into the data folder; it is read as it is.",
    )


_THREADS = _scholp(
    "threads-math-sx",
    "Threads of math.stackexchange: users, hyperedges are the users of one thread",
    Statistics(201863, 719792, 0, 0, 1610393),
    "36a11f20b62c135d24337b28c02f4872438b3bf619c99a0420d2d556bbf5c391",
    5756053,
)
_TAGS = _scholp(
    "tags-math-sx",
    "Tags of math.stackexchange: tags, hyperedges are the tags of one question",
    Statistics(1629, 822059, 0, 0, 1801637),
    "fe36124e0097d8059afa1c9b3946c597b0a4d15b40b318d8c275fba8038d9648",
    4265531,
)


def with_noise(base: Card, sigma: str) -> Card:
    """The House or Walmart card for another standard deviation of the noise."""
    stem = base.name.split("-")[0]
    title = base.title.replace("σ = 1", f"σ = {sigma}")
    return dataclasses.replace(base, name=f"{stem}-{sigma}", title=title, features=_NOISE.format(sigma))


_NOISY = {"house": _HOUSE, "walmart": _WALMART}
_CARDS = {
    c.name: c
    for c in (
        *(_ZOO, _NEWS, _MUSHROOM, _NTU, _MODELNET, _YELP),
        *(_HOUSE, with_noise(_HOUSE, "0.6"), _WALMART, with_noise(_WALMART, "0.6")),
        *(_COCITATION, _COAUTHORSHIP, _CONGRESS, _THREADS, _TAGS),
    )
}


def list_datasets() -> list[Card]:
    """The cards of all datasets, those of the paper's table first.

    >>> list_datasets()[0].name
    'zoo'
    """
    return list(_CARDS.values())


def noise_of(name: str) -> float:
    """σ of a name like ``house-0.6``."""
    return float(name.split("-")[1])


def card(name: str) -> Card:
    """The card called ``name`` (case does not matter; ``house-σ`` and ``walmart-σ`` take any σ).

    >>> card("Zoo").statistics.nodes, card("house-0.8").features[-22:]
    (101, 'standard deviation 0.8')
    """
    if not isinstance(name, str):
        raise ValueError(f"a dataset's name must be a string, got {name!r}")
    key = name.strip().lower().replace("_", "-")
    if key in _CARDS:
        return _CARDS[key]
    noisy = re.fullmatch(r"(house|walmart)-(\d+\.?\d*|\.\d+)", key)
    if noisy:
        known = f"{noisy[1]}-{float(noisy[2]):g}"  # 0.60 is 0.6
        return _CARDS.get(known) or with_noise(_NOISY[noisy[1]], known.split("-", 1)[1])
    raise ValueError(f"unknown dataset {name!r}{suggest(key, _CARDS)}. Known: {', '.join(_CARDS)}")
