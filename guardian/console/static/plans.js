"use strict";
// The drawings of plans: bars before and after, bands of bytes. What is drawn comes ready from the server.
(() => {
  const TITLES = { traffic: "Traffic", cpu: "CPU", nw_in: "Network in", nw_out: "Network out", disk: "Disk", disk_io: "Disk io", replicas: "Replicas", leaders: "Leaders", moved: "Bytes of what moves", moved_leaders: "Leaders of what moves" };
  const SHOWS = { cpu: (value) => `${value.toFixed(0)} %`, disk: guardian.shows.bytes, moved: guardian.shows.bytes, replicas: guardian.shows.number, leaders: guardian.shows.number, moved_leaders: guardian.shows.number };
  const PLACES = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#8cd17d"];
  // More rows than these can't be told apart by name: they are drawn from the highest to the lowest.
  const MANY = 60;
  // Elements of a page can be searched and printed; thousands of them are slow.
  const MOST_ELEMENTS = 1500;
  const begun = (place, height, marks) => echarts.init(place, null, { renderer: marks > MOST_ELEMENTS ? "canvas" : "svg", height });

  guardian.chart("bars", (place, data, figure) => {
    const known = [...Object.keys(TITLES), ...Object.keys(data.rows)].filter((name, at, all) => data.rows[name] && all.indexOf(name) === at);
    const resources = document.createElement("div");
    resources.className = "resources";
    resources.setAttribute("role", "group");
    resources.setAttribute("aria-label", `What to show of ${data.place}s`);
    const canvas = document.createElement("div");
    place.style.height = "auto";
    place.removeAttribute("role");
    canvas.setAttribute("role", "img");
    place.append(resources, canvas);
    const height = parseInt(getComputedStyle(figure).getPropertyValue("--height"), 10) || 300;
    const words = figure.querySelector("figcaption");
    const spread = (name) => data.spreads[`${data.place}${name === "traffic" ? "" : ` ${name}`}`];
    let drawn = null;
    function draw(name) {
      const many = data.rows[name].length > MANY;
      const rows = many ? [...data.rows[name]].sort((one, other) => other[1] - one[1]) : data.rows[name];
      const show = SHOWS[name] || guardian.shows.rate;
      const shares = rows.every((row) => row[3] > 0);
      const value = (row, at) => (shares ? (100 * row[at]) / row[3] : row[at]);
      const even = spread(name);
      words.textContent = `${TITLES[name] || name}${shares ? ", % of capacity" : ""}`
        + (even ? `: max/mean ${(1 + even[0]).toFixed(2)} before, ${(1 + even[1]).toFixed(2)} after` : "")
        + (many ? `; ${rows.length} of them, from the highest before to the lowest` : "");
      canvas.setAttribute("aria-label", words.textContent);
      const staying = rows.filter((row) => !row[4]).map((row) => value(row, 2));
      const mean = staying.reduce((sum, each) => sum + each, 0) / (staying.length || 1);
      const ink = guardian.ink("ink");
      const series = (title, at, color, wide) => ({
        name: title, type: "bar", barMaxWidth: 36, itemStyle: { color }, data: rows.map((row) => value(row, at)),
        ...(many ? { barWidth: wide ? "100%" : "55%", barGap: wide ? "-100%" : undefined } : {}),
        ...(at === 2 ? { markLine: { silent: true, symbol: "none", lineStyle: { color: ink, type: "dashed", opacity: 0.6 }, label: { formatter: "mean", position: "end", color: ink }, data: [{ yAxis: mean }] } } : {}),
      });
      if (drawn) drawn.dispose();
      drawn = begun(canvas, height, 2 * rows.length);
      drawn.setOption({
        animation: false, backgroundColor: "transparent",
        tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (found) => {
          const row = rows[found[0].dataIndex];
          const told = (at) => `${show(row[at])}${shares ? ` (${value(row, at).toFixed(0)} %)` : ""}`;
          return echarts.format.encodeHTML(`${row[0]}: ${told(1)} before, ${told(2)} after`);
        } },
        legend: { top: 0, right: 0, textStyle: { color: ink } },
        grid: { left: 70, right: 60, top: 30, bottom: many ? 60 : 35 },
        xAxis: { type: "category", data: rows.map((row) => row[0] + (row[4] ? " (leaves)" : "")), axisLabel: { color: ink, hideOverlap: true } },
        yAxis: { type: "value", splitLine: { lineStyle: { color: guardian.ink("line") } }, axisLabel: { color: ink, formatter: shares ? (share) => `${share} %` : show } },
        dataZoom: many ? [{ type: "slider", height: 16, bottom: 6 }] : [],
        series: [series("before", 1, guardian.ink("fill"), true), series("after", 2, guardian.ink("accent"), false)],
      });
    }
    const buttons = known.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = TITLES[name] || name;
      button.addEventListener("click", () => {
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        draw(name);
      });
      resources.append(button);
      return button;
    });
    // What was most uneven is what the plan is about.
    const uneven = known.map((name) => (spread(name) || [0])[0]);
    const first = known.indexOf(data.first || "traffic");
    if (buttons.length) buttons[first >= 0 && data.first ? first : uneven.indexOf(Math.max(...uneven))].click();
    return { resize: (width) => drawn && drawn.resize({ width }), end: () => drawn && drawn.dispose() };
  });

  guardian.chart("flows", (place, flows, figure) => {
    const names = [...new Set(flows.flatMap(([from, to]) => [from, to]))].sort();
    const color = Object.fromEntries(names.map((name, at) => [name, PLACES[at % PLACES.length]]));
    const ends = { "from ": 0, "to ": 1 };
    const total = (side, name) => flows.filter((flow) => flow[ends[side]] === name).reduce((sum, flow) => sum + flow[2], 0);
    const nodes = Object.keys(ends).flatMap((side) => names.filter((name) => total(side, name)).map((name) => ({
      name: side + name, itemStyle: { color: color[name] },
      label: { position: side === "to " ? "right" : "left", formatter: `${name}  ${guardian.shows.bytes(total(side, name))}` },
    })));
    place.setAttribute("aria-label", flows.map(([from, to, size]) => `${from} to ${to}: ${guardian.shows.bytes(size)}`).join("; "));
    const height = parseInt(getComputedStyle(figure).getPropertyValue("--height"), 10) || 300;
    const drawn = begun(place, height, flows.length + nodes.length);
    drawn.setOption({
      animation: false, backgroundColor: "transparent", tooltip: { valueFormatter: guardian.shows.bytes },
      series: [{
        type: "sankey", left: 120, right: 120, top: 10, bottom: 10, nodeGap: 10, layoutIterations: 0, draggable: false,
        emphasis: { focus: "adjacency" }, label: { color: guardian.ink("ink") }, lineStyle: { color: "source", opacity: 0.4 },
        data: nodes, links: flows.map(([from, to, size]) => ({ source: `from ${from}`, target: `to ${to}`, value: size })),
      }],
    });
    return { resize: (width) => drawn.resize({ width }), end: () => drawn.dispose() };
  });
})();
