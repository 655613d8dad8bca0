"""Classification of whole hypergraphs: IMDB and Steam."""
