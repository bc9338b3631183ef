
UNITS = {
    "s": [(1e-12, "ps"), (1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1, "s")],
    "B": [(1, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")],
    "bps": [(1, "bps"), (1e3, "Kbps"), (1e6, "Mbps"), (1e9, "Gbps"), (1e12, "Tbps")],
}


@functools.cache
def table(path):
    return pd.read_parquet(path)


@functools.cache
def stored(path):
    return json.loads(Path(path).read_text())["points"]


def number(run, metric):
    """Return a number of a run: a column of sweep.parquet, or of summary.json outside a sweep."""
    if ".json#" in run:
        path, index = run.split("#")
        point = stored(path)[int(index)]
        if metric in point["values"]:
            return point["values"][metric]
        name, statistic = metric.rsplit(".", 1)
        return point["distributions"][name]["statistics"][statistic]
    sweep = Path(run).parent.parent / "sweep.parquet"
    if sweep.exists():
        rows = table(sweep)
        return rows[rows.folder == "points/" + Path(run).name][metric].iloc[0]
    return walk(json.loads((Path(run) / "summary.json").read_text()), metric)


def walk(node, path):
    """Follow a path in summary.json; elements of lists have names, which may contain dots."""
    if not path:
        return node
    if isinstance(node, list):
        for item in node:
            if path == item["name"] or path.startswith(item["name"] + "."):
                return walk(item, path[len(item["name"]) + 1:])
        raise KeyError(path)
    first, _, rest = path.partition(".")
    return walk(node[first], rest)


def column(run, name, where):
    """Return the measured rows of a column of a run, with their times if the table has any."""
    if ".json#" in run:
        path, index = run.split("#")
        found = stored(path)[int(index)]["distributions"][name]
        if KIND == "time":
            return pd.DataFrame({"value": found["trace"]["y"], "time": [1e6 * us for us in found["trace"]["us"]]})
        return pd.DataFrame({"value": found["quantiles"][1:]})
    rows = table(Path(run) / f"{TABLE}.parquet")
    if "measured" in rows:
        rows = rows[rows.measured]
    for key, want in where.items():
        rows = rows[rows[key].astype(str) == want]
    values = pd.DataFrame({"value": rows[name].astype(float)})
    if TABLE in ("flows", "operations") and (name.endswith("_ps") or name == "slowdown"):
        values = values.fillna(math.inf)  # did not finish
    if "time_ps" in rows:
        values["time"] = rows.time_ps
    return values.dropna()


def values(run, metric, where):
    return pd.Series([number(run, metric)]) if not TABLE else column(run, metric, where).value


def sample(numbers):
    """Return the mean and its distances to the ends of its 95 % interval, which is cut at zero."""
    n = len(numbers)
    mean = sum(numbers) / n
    half = STUDENT[n] * math.sqrt(sum((v - mean) ** 2 for v in numbers) / (n - 1) / n) if n > 1 else 0
    return mean, half if min(numbers) < 0 else min(half, mean), half


def fitted(unit, most):
    """Return the factor and the suffix of a label that suit values up to most."""
    if unit not in UNITS:
        return 1, ""
    factor, name = [u for u in UNITS[unit] if u[0] <= max(most, UNITS[unit][0][0])][-1]
    return 1 / factor, f" ({name})"


def scaled(panel, most):
    """Return the factor for values of a panel, and its label."""
    base = 1e-12 if panel["unit"] == "s" else 1
    factor, suffix = fitted(panel["unit"], most * base)
    return base * factor, panel["label"] + suffix


def by_series(cells):
    found = {}
    for cell in cells:
        found.setdefault(cell["series"], []).append(cell)
    return found


def cdf(axes, panel, cells):
    everything = [v for c in cells for r in c["runs"] for v in values(*r) if math.isfinite(v)]
    factor, label = scaled(panel, max(everything, default=1))
    for name, (cell, *_) in by_series(cells).items():
        runs = [sorted(values(*r)) for r in cell["runs"]]
        if not TABLE:
            runs = [sorted(v for r in runs for v in r)]
        xs = sorted({v for r in runs for v in r if math.isfinite(v)})
        shares = [[bisect.bisect_right(r, x) / len(r) for x in xs] for r in runs if r]
        if not xs:
            continue
        xs.insert(0, xs[0])  # begin at the bottom
        for s in shares:
            s.insert(0, 0)
        points = [x * factor for x in xs]
        axes.step(points, [sum(s) / len(s) for s in zip(*shares)], where="post", label=name, color=COLOURS[name])
        if len(shares) > 1:
            axes.fill_between(points, [min(s) for s in zip(*shares)], [max(s) for s in zip(*shares)],
                              step="post", alpha=0.2, color=COLOURS[name], linewidth=0)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1))
    axes.set_xlabel(label)
    axes.set_ylabel(panel["share"])


def overtime(axes, panel, cells):
    merged = {}
    for cell in cells:
        parts = [column(*r).groupby("time").value.sum() for r in cell["runs"]]
        merged[cell["series"]] = pd.concat(parts, axis=1)
    factor, label = scaled(panel, max(m.max().max() for m in merged.values()))
    seconds, unit = fitted("s", max(m.index.max() for m in merged.values()) * 1e-12)
    for name, m in merged.items():
        axes.plot(m.index * 1e-12 * seconds, m.mean(axis=1) * factor, label=name, color=COLOURS[name])
        if m.shape[1] > 1:
            axes.fill_between(m.index * 1e-12 * seconds, m.min(axis=1) * factor, m.max(axis=1) * factor, alpha=0.2, color=COLOURS[name], linewidth=0)
    axes.set_xlabel("time" + unit)
    axes.set_ylabel(label)


def means(cells):
    return {(c["series"], c["x"]): sample([number(r[0], r[1]) for r in c["runs"]]) for c in cells if c["runs"]}


def lines(axes, panel, cells):
    found = means(cells)
    factor, label = scaled(panel, max(m for m, *_ in found.values()))
    most = max(X[c["x"]] for c in cells)
    across, suffix = fitted(XUNIT, most)
    for name, mine in by_series(cells).items():
        mine = sorted((c for c in mine if (name, c["x"]) in found), key=lambda c: X[c["x"]])
        mean = [found[name, c["x"]][0] * factor for c in mine]
        ends = [[found[name, c["x"]][i] * factor for c in mine] for i in (1, 2)]
        axes.errorbar([X[c["x"]] * across for c in mine], mean, ends, marker="o", markersize=3, capsize=2, label=name, color=COLOURS[name])
    axes.set_xlabel(panel["x"] + suffix)
    axes.set_ylabel(label)


def grouped(cells):
    names = list(by_series(cells))
    xs = [x for x in ORDER if any(c["x"] == x for c in cells)]
    return names, xs, 0.8 / len(names)


def bars(axes, panel, cells):
    found = means(cells)
    factor, label = scaled(panel, max(m for m, *_ in found.values()))
    names, xs, width = grouped(cells)
    for i, name in enumerate(names):
        at = [k for k, x in enumerate(xs) if (name, x) in found]
        mean = [found[name, xs[k]][0] * factor for k in at]
        ends = [[found[name, xs[k]][i] * factor for k in at] for i in (1, 2)]
        axes.bar([k + (i - (len(names) - 1) / 2) * width for k in at], mean, width * 0.92,
                 yerr=ends if any(ends[1]) else None, capsize=2, label=name, color=COLOURS[name])
    axes.set_xticks(range(len(xs)), [LABELS[x] for x in xs])
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(label)


def box(axes, panel, cells):
    names, xs, width = grouped(cells)
    found = {(c["series"], c["x"]): sorted(v for r in c["runs"] for v in values(*r)) for c in cells}
    rank = lambda v, share: v[max(math.ceil(share * len(v)) - 1, 0)]
    factor, label = scaled(panel, max(rank(v, 0.75) for v in found.values() if v))
    for i, name in enumerate(names):
        for k, x in enumerate(xs):
            v = found.get((name, x))
            if not v:
                continue
            low, q1, median, q3, high = (rank(v, s) * factor for s in (0.01, 0.25, 0.5, 0.75, 0.99))
            axes.bxp([{"whislo": low, "q1": q1, "med": median, "q3": q3, "whishi": high}], showfliers=False, patch_artist=True, manage_ticks=False,
                     positions=[k + (i - (len(names) - 1) / 2) * width], widths=width * 0.8, boxprops={"facecolor": COLOURS[name], "alpha": 0.5})
        axes.plot([], [], color=COLOURS[name], label=name)
    axes.set_xticks(range(len(xs)), [LABELS[x] for x in xs])
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(label)


def heat(axes, panel, cells):
    found = means(cells)
    factor, label = scaled(panel, max(m for m, *_ in found.values()))
    names, xs, _ = grouped(cells)
    grid = [[found.get((n, x), [math.nan])[0] * factor for x in xs] for n in names]
    norm = matplotlib.colors.LogNorm() if panel["ylog"] else None
    image = axes.imshow(grid, aspect="auto", cmap="YlOrBr", norm=norm)
    axes.set_xticks(range(len(xs)), [LABELS[x] for x in xs])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["rows"])
    axes.figure.colorbar(image, ax=axes, label=label)


def main():
    matplotlib.rcParams.update({"font.size": 7, "pdf.fonttype": 42, "svg.fonttype": "none", "lines.linewidth": 1.2})
    columns = min(len(PANELS), COLUMNS)
    rows = -(-len(PANELS) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=SIZE, squeeze=False, layout="constrained")
    for axes in grid.flat[len(PANELS):]:
        axes.remove()
    for axes, panel in zip(grid.flat, PANELS):
        {"cdf": cdf, "time": overtime, "lines": lines, "bars": bars, "box": box, "heat": heat}[KIND](axes, panel, panel["cells"])
        axes.set_title(panel["title"], fontsize=7)
        if panel["xlog"]:
            axes.set_xscale("log")
        if panel["ylog"] and KIND != "heat":
            axes.set_yscale("log")
        if KIND != "heat":
            axes.grid(alpha=0.3)
            axes.set_axisbelow(True)
    if len(COLOURS) > 1 and KIND != "heat":
        grid.flat[0].legend(frameon=False)
    if TITLE:
        figure.suptitle(TITLE, fontsize=8)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else OUTPUT, dpi=300)


if __name__ == "__main__":
    main()
