"""Labels of nodes within hyperedges: WHATsNet, CoNHD and `ehnn.IncidenceClassifier` under one protocol."""
