#!/usr/bin/env python3
"""Read results of xoff with DuckDB and pandas: python3 notebook.py SWEEP

SWEEP is a folder of xoff sweep, xoff compare or xoff run --seeds. Needs packages duckdb and
pandas. Copy the parts that you need into a notebook; docs/notebook.md explains them.
"""
import os
import sys

import duckdb

# Every flow of every point, beside the varied keys and metrics of its point.
FLOWS = """
CREATE OR REPLACE VIEW flows AS
SELECT s.*, f.* EXCLUDE (filename)
FROM read_parquet('points/*/flows.parquet', filename = true, hive_partitioning = false, union_by_name = true) AS f
JOIN 'sweep.parquet' AS s ON parse_dirpath(f.filename) = s.folder
"""

# Mean over seeds, with the half width of its 95 % interval: Student's t of 2 to 10 seeds.
MEANS = """
SELECT regexp_replace(folder, '^points/|,?seed=.*$', '', 'g') AS variant, count(*) AS seeds, round(avg("slowdown.p99"), 2) AS p99,
    round([12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26][count(*) - 1] * stddev_samp("slowdown.p99") / sqrt(count(*)), 2) AS ci95
FROM 'sweep.parquet' GROUP BY ALL ORDER BY ALL
"""

# Slowdown by size: the 99th percentile of the flows of all seeds, by decade of size.
BY_SIZE = """
SELECT workload, 10 ** floor(log10(size_bytes)) AS from_bytes, count(*) AS flows, round(quantile_disc(slowdown, 0.99), 2) AS p99
FROM flows WHERE measured AND finished GROUP BY ALL ORDER BY ALL
"""

# Ports that were blocked longest, over all points.
BLOCKED = """
SELECT node, port, peer, round(avg(blocked_ps) / 1e6, 1) AS blocked_us
FROM read_parquet('points/*/ports.parquet', hive_partitioning = false) GROUP BY ALL ORDER BY blocked_us DESC, node, port LIMIT 5
"""


def open_results(folder):
    """Return a connection whose queries find the tables of a results folder."""
    os.chdir(folder)
    connection = duckdb.connect()
    connection.execute(FLOWS)
    return connection


def main():
    connection = open_results(sys.argv[1])
    for query in (MEANS, BY_SIZE, BLOCKED):
        print(connection.sql(query).df().to_string(index=False), end="\n\n")

    # A DataFrame continues where SQL is clumsy, and query results can join it.
    flows = connection.sql("SELECT workload, seed, slowdown FROM flows WHERE measured AND finished").df()
    print(flows.groupby(["workload", "seed"]).slowdown.describe(percentiles=[0.5, 0.99]).round(2))


if __name__ == "__main__":
    main()
