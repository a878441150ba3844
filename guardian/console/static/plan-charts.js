"use strict";
// The drawings of a plan, for the console and for the page that needs nothing beside itself: bars before and after, bands
// of bytes. What is drawn comes ready; colours are those of the page's style.
const planCharts = (() => {
  const PLACES = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#8cd17d"];
  // More rows than these can't be told apart by name: they are drawn from the highest to the lowest.
  const MANY = 60;
  // Elements of a page can be searched, copied and printed; thousands of them are slow.
  const MOST_ELEMENTS = 1500;
  const count = (value) => value.toFixed(0);
  const RESOURCES = {
    traffic: ["Traffic", units.rate],
    cpu: ["CPU", (value) => `${value.toFixed(0)} %`],
    nw_in: ["Network in", units.rate],
    nw_out: ["Network out", units.rate],
    disk: ["Disk", units.bytes],
    disk_io: ["Disk io", units.rate],
    replicas: ["Replicas", count],
    leaders: ["Leaders", count],
    moved: ["Bytes of what moves", units.bytes],
    moved_leaders: ["Leaders of what moves", count],
  };
  const titleOf = (resource) => (RESOURCES[resource] || [resource])[0];
  const showOf = (resource) => (RESOURCES[resource] || [resource, units.number])[1];
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function isDark() {
    const scheme = getComputedStyle(document.documentElement).colorScheme;
    return scheme === "dark" || (scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  function begun(place, height, marks) {
    const before = echarts.getInstanceByDom(place);
    if (before) before.dispose();
    place.style.height = `${height}px`;
    return echarts.init(place, isDark() ? "dark" : null, { renderer: marks > MOST_ELEMENTS ? "canvas" : "svg", height });
  }

  // Rows are [name, before, after, capacity, leaves]. `even` is the spread before and after, where it is known: it is of
  // use relative to capacity, so it comes with the plan instead of from the rows. `tell` gets the sentence below it.
  function bars(place, height, given, resource, even, tell) {
    const many = given.length > MANY;
    const rows = many ? [...given].sort((one, other) => other[1] - one[1]) : given;
    const show = showOf(resource);
    const shares = rows.every((row) => row[3] > 0);
    const value = (row, at) => (shares ? (100 * row[at]) / row[3] : row[at]);
    const words = `${titleOf(resource)}${shares ? ", % of capacity" : ""}`
      + (even ? `: spread ${even[0].toFixed(2)} before, ${even[1].toFixed(2)} after` : "")
      + (many ? `; ${rows.length} of them, from the highest before to the lowest` : "");
    tell(words);
    place.setAttribute("aria-label", words);
    const staying = rows.filter((row) => !row[4]).map((row) => value(row, 2));
    const average = staying.reduce((sum, each) => sum + each, 0) / (staying.length || 1);
    const mean = { silent: true, symbol: "none", lineStyle: { color: ink("ink"), type: "dashed", opacity: 0.6 },
      label: { formatter: "mean", position: "end", color: ink("ink") }, data: [{ yAxis: average }] };
    const series = (name, at, color, wide) => ({
      name, type: "bar", barMaxWidth: 36, itemStyle: { color }, data: rows.map((row) => value(row, at)),
      ...(many ? { barWidth: wide ? "100%" : "55%", barGap: wide ? "-100%" : undefined } : {}),
      ...(name === "after" ? { markLine: mean } : {}),
    });
    const drawn = begun(place, height, 2 * rows.length);
    drawn.setOption({
      animation: false, backgroundColor: "transparent",
      tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (found) => {
        const row = rows[found[0].dataIndex];
        const told = (at) => `${show(row[at])}${shares ? ` (${value(row, at).toFixed(0)} %)` : ""}`;
        return echarts.format.encodeHTML(`${row[0]}: ${told(1)} before, ${told(2)} after`);
      } },
      legend: { top: 0, right: 0, textStyle: { color: ink("ink") } },
      grid: { left: 70, right: 60, top: 30, bottom: many ? 60 : 35 },
      xAxis: { type: "category", data: rows.map((row) => row[0] + (row[4] ? " (leaves)" : "")), axisLabel: { color: ink("ink"), hideOverlap: true } },
      yAxis: { type: "value", splitLine: { lineStyle: { color: ink("line") } },
        axisLabel: { color: ink("ink"), formatter: shares ? (share) => `${share} %` : show } },
      dataZoom: many ? [{ type: "slider", height: 16, bottom: 6 }] : [],
      series: [series("before", 1, ink("before"), true), series("after", 2, ink("after"), false)],
    });
    return drawn;
  }

  // A button for each resource that `rows` have. `spreadOf` is the spread of one before; `first` is what to begin with.
  function choices(place, rows, spreadOf, first, draw) {
    const known = [...Object.keys(RESOURCES), ...Object.keys(rows)].filter((name, at, all) => rows[name] && all.indexOf(name) === at);
    const buttons = known.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = titleOf(name);
      button.addEventListener("click", () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        draw(name);
      });
      return button;
    });
    place.append(...buttons);
    // What was most uneven is what the plan is about.
    const uneven = known.map((name) => (spreadOf(name) || [0])[0]);
    const begin = known.includes(first) ? known.indexOf(first) : uneven.indexOf(Math.max(...uneven));
    if (buttons.length) buttons[begin].click();
    return buttons.length > 0;
  }

  // Flows are [from, to, bytes].
  function flows(place, height, given) {
    const names = [...new Set(given.flatMap(([from, to]) => [from, to]))].sort();
    const color = Object.fromEntries(names.map((name, at) => [name, PLACES[at % PLACES.length]]));
    const ends = { "from ": 0, "to ": 1 };
    const total = (side, name) => given.filter((flow) => flow[ends[side]] === name).reduce((sum, flow) => sum + flow[2], 0);
    const nodes = Object.keys(ends).flatMap((side) => names.filter((name) => total(side, name)).map((name) => ({
      name: side + name, itemStyle: { color: color[name] },
      label: { position: side === "to " ? "right" : "left", formatter: `${name}  ${units.bytes(total(side, name))}` },
    })));
    place.setAttribute("aria-label", given.map(([from, to, size]) => `${from} to ${to}: ${units.bytes(size)}`).join("; "));
    const drawn = begun(place, height, given.length + nodes.length);
    drawn.setOption({
      animation: false, backgroundColor: "transparent", tooltip: { valueFormatter: units.bytes },
      series: [{
        type: "sankey", left: 130, right: 130, top: 10, bottom: 10, nodeGap: 10, layoutIterations: 0, draggable: false,
        emphasis: { focus: "adjacency" }, label: { color: ink("ink") }, lineStyle: { color: "source", opacity: 0.4 },
        data: nodes, links: given.map(([from, to, size]) => ({ source: `from ${from}`, target: `to ${to}`, value: size })),
      }],
    });
    return drawn;
  }

  return { titleOf, bars, choices, flows };
})();
