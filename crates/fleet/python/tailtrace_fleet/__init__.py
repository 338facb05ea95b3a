"""Questions to a fleet's captures, over the tables that `tailtrace fleet ingest` writes.

`schema` knows the tables, `tables` opens them in DuckDB, `queries` runs the files of `sql`, `statistics` judges what
they count, `report` and `difference` make one plain value of it, `page` and `markdown` render that. `spark` makes the same
tables on a cluster. Imports go in this order only.
"""
