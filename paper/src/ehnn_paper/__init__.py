"""The tables of the paper: recipes, runs, figures, benchmarks. A folder for each table."""
