"""Read and write edge lists, CSV and HIF; convert from and to scipy, PyG, NetworkX, XGI and HyperNetX."""

from ehnn._utils.moved import former

from .csv_tables import read_csv, write_csv
from .edge_lines import read_edge_lines, write_edge_lines
from .hif import from_hif_dict, read_hif, to_hif_dict, write_hif
from .named import from_named_edges, to_named_edges
from .pyg import from_pyg, from_pyg_bipartite, to_pyg, to_pyg_bipartite
from .sparse import from_scipy, to_scipy
from .with_hypernetx import from_hypernetx, to_hypernetx
from .with_networkx import from_networkx, to_networkx
from .with_xgi import from_xgi, to_xgi

__all__ = [
    "from_hif_dict",
    "from_hypernetx",
    "from_named_edges",
    "from_networkx",
    "from_pyg",
    "from_pyg_bipartite",
    "from_scipy",
    "from_xgi",
    "read_csv",
    "read_edge_lines",
    "read_hif",
    "to_hif_dict",
    "to_hypernetx",
    "to_named_edges",
    "to_networkx",
    "to_pyg",
    "to_pyg_bipartite",
    "to_scipy",
    "to_xgi",
    "write_csv",
    "write_edge_lines",
    "write_hif",
]

__getattr__ = former(__name__, internal={"ehnn._utils.atomic": "atomic_write"})
