"""Labels of hyperedges: `ehnn.HyperedgeClassifier`, simple answers and networks under one protocol."""
