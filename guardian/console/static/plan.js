"use strict";
const plan = JSON.parse(document.getElementById("payload").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const INK = dark ? "#e6eaf0" : "#1c2430";
const LINE = dark ? "#323b47" : "#d5dbe3";
const BEFORE = dark ? "#6b7685" : "#b4bdc8";
const AFTER = dark ? "#5ab0f5" : "#1769c0";
const PLACES = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#8cd17d"];
// More rows than these can't be told apart by name: they are drawn from the highest to the lowest.
const MANY = 60;
// Elements of the page can be searched, copied and printed; thousands of them are slow.
const MOST_ELEMENTS = 1500;
const rate = (value) => `${bytes(value)}/s`;
const RESOURCES = {
  traffic: ["Traffic", rate],
  cpu: ["CPU", (value) => `${value.toFixed(0)} %`],
  nw_in: ["Network in", rate],
  nw_out: ["Network out", rate],
  disk: ["Disk", bytes],
  disk_io: ["Disk io", rate],
  replicas: ["Replicas", (value) => value.toFixed(0)],
  leaders: ["Leaders", (value) => value.toFixed(0)],
};
const labelOf = (resource) => (RESOURCES[resource] || [resource])[0];
const formatOf = (resource) => (RESOURCES[resource] || [resource, String])[1];

function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit && value < 100 ? value.toFixed(1) : value.toFixed(0)} ${units[unit]}`;
}

function duration(seconds) {
  if (seconds < 90) return `${seconds.toFixed(0)} s`;
  if (seconds < 5400) return `${(seconds / 60).toFixed(0)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function figure(term, value) {
  const card = document.createElement("div");
  card.append(element("dt", term), element("dd", value));
  document.getElementById("figures").append(card);
}

function drawing(id, height, marks) {
  const place = document.getElementById(id);
  const renderer = marks > MOST_ELEMENTS ? "canvas" : "svg";
  const drawn = echarts.getInstanceByDom(place);
  place.style.height = `${height}px`;
  if (drawn) drawn.dispose();
  return echarts.init(place, dark ? "dark" : null, { renderer, height });
}

// Spreads are of use relative to capacity, so they come with the plan instead of from the bars.
function spreadOf(of, resource) {
  const kind = `${of === "brokers" ? "broker" : "log dir"}${resource === "traffic" ? "" : ` ${resource}`}`;
  return plan.spreads.find(([name]) => name === kind);
}

function bars(of, resource) {
  const many = plan[of][resource].length > MANY;
  const rows = many ? [...plan[of][resource]].sort((one, other) => other[1] - one[1]) : plan[of][resource];
  const format = formatOf(resource);
  const shares = rows.every((row) => row[3] > 0);
  const value = (row, at) => (shares ? 100 * row[at] / row[3] : row[at]);
  const spread = spreadOf(of, resource);
  const summary = `${labelOf(resource)}${shares ? ", % of capacity" : ""}`
    + (spread ? `: max/mean ${(1 + spread[1]).toFixed(2)} before, ${(1 + spread[2]).toFixed(2)} after` : "")
    + (many ? `; ${rows.length} of them, from the highest before to the lowest` : "");
  document.querySelector(`.summary[data-of="${of}"]`).textContent = summary;
  document.getElementById(of).setAttribute("aria-label", summary);
  const staying = rows.filter((row) => !row[4]).map((row) => value(row, 2));
  const average = staying.reduce((sum, each) => sum + each, 0) / (staying.length || 1);
  const mean = { silent: true, symbol: "none", lineStyle: { color: INK, type: "dashed", opacity: 0.6 },
    label: { formatter: "mean", position: "end", color: INK }, data: [{ yAxis: average }] };
  const series = (name, at, color, wide) => ({
    name, type: "bar", barMaxWidth: 36, itemStyle: { color }, data: rows.map((row) => value(row, at)),
    ...(many ? { barWidth: wide ? "100%" : "55%", barGap: wide ? "-100%" : undefined } : {}),
    ...(name === "after" ? { markLine: mean } : {}),
  });
  drawing(of, 320, 2 * rows.length).setOption({
    animation: false, backgroundColor: "transparent",
    tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, formatter: (found) => {
      const row = rows[found[0].dataIndex];
      const told = (at) => `${format(row[at])}${shares ? ` (${value(row, at).toFixed(0)} %)` : ""}`;
      return echarts.format.encodeHTML(`${row[0]}: ${told(1)} before, ${told(2)} after`);
    } },
    legend: { top: 0, right: 0, textStyle: { color: INK } },
    grid: { left: 70, right: 60, top: 30, bottom: many ? 60 : 35 },
    xAxis: { type: "category", data: rows.map((row) => row[0] + (row[4] ? " (leaves)" : "")), axisLabel: { color: INK, hideOverlap: true } },
    yAxis: { type: "value", splitLine: { lineStyle: { color: LINE } },
      axisLabel: { color: INK, formatter: shares ? (share) => `${share} %` : format } },
    dataZoom: many ? [{ type: "slider", height: 16, bottom: 6 }] : [],
    series: [series("before", 1, BEFORE, true), series("after", 2, AFTER, false)],
  });
}

function tabs(of) {
  const known = [...Object.keys(RESOURCES), ...Object.keys(plan[of])]
    .filter((resource, at, all) => plan[of][resource] && all.indexOf(resource) === at);
  if (!known.length) return nothing(of, "The plan has no figures for these.");
  const buttons = known.map((resource) => {
    const button = element("button", labelOf(resource));
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      bars(of, resource);
    };
    return button;
  });
  document.querySelector(`.tabs[data-of="${of}"]`).append(...buttons);
  // What was most uneven is what the plan is about.
  const uneven = known.map((resource) => (spreadOf(of, resource) || [0, 0])[1]);
  buttons[uneven.indexOf(Math.max(...uneven))].click();
}

function nothing(id, text) {
  const chart = document.getElementById(id);
  chart.classList.add("empty");
  chart.textContent = text;
}

function sankey(id, flows) {
  if (!flows.length) return nothing(id, "Nothing is copied between these.");
  const names = [...new Set(flows.flatMap(([from, to]) => [from, to]))].sort();
  const color = Object.fromEntries(names.map((name, at) => [name, PLACES[at % PLACES.length]]));
  const ends = { "from ": 0, "to ": 1 };
  const total = (side, name) => flows.filter((flow) => flow[ends[side]] === name).reduce((sum, flow) => sum + flow[2], 0);
  const nodes = Object.keys(ends).flatMap((side) => names.filter((name) => total(side, name)).map((name) => ({
    name: side + name, itemStyle: { color: color[name] },
    label: { position: side === "to " ? "right" : "left", formatter: `${name}  ${bytes(total(side, name))}` },
  })));
  document.getElementById(id).setAttribute(
    "aria-label", flows.map(([from, to, size]) => `${from} to ${to}: ${bytes(size)}`).join("; "));
  const marks = flows.length + nodes.length;
  drawing(id, Math.min(900, Math.max(140, 36 * nodes.length / 2 + 60)), marks).setOption({
    animation: false, backgroundColor: "transparent", tooltip: { valueFormatter: bytes },
    series: [{
      type: "sankey", left: 140, right: 140, top: 10, bottom: 10, nodeGap: 12, layoutIterations: 0, draggable: false,
      emphasis: { focus: "adjacency" }, label: { color: INK }, lineStyle: { color: "source", opacity: 0.4 },
      data: nodes,
      links: flows.map(([from, to, size]) => ({ source: `from ${from}`, target: `to ${to}`, value: size })),
    }],
  });
}

function sentences(id, listed) {
  const section = document.getElementById(id);
  section.hidden = !listed.length;
  section.querySelector("ul").append(...listed.map((sentence) => element("li", sentence)));
}

function rowOf(...cells) {
  const row = document.createElement("tr");
  row.append(...cells.map(([text, className]) => element("td", text, className)));
  return row;
}

const number = (value) => (value === null ? "-" : Number.isInteger(value) ? String(value) : value.toFixed(3));

document.getElementById("title").textContent = `Plan: ${plan.kind} of cluster ${plan.cluster}`;
document.getElementById("input").textContent = plan.input;
figure("moves", plan.moves_total.toLocaleString("en"));
figure("to copy", bytes(plan.bytes));
if (plan.seconds) figure(plan.throttle ? `at least, at ${bytes(plan.throttle)}/s a broker` : "at least", duration(plan.seconds));
for (const [kind, before, after] of plan.spreads) {
  const [place, resource] = kind.startsWith("log dir") ? ["Log dirs", kind.slice(8)] : ["Brokers", kind.slice(7)];
  figure(`${place}: ${labelOf(resource || "traffic")}, max/mean`, `${(1 + before).toFixed(2)} → ${(1 + after).toFixed(2)}`);
}
sentences("unmet", plan.unmet);
sentences("notes", plan.notes);
tabs("brokers");
tabs("log_dirs");
sankey("racks", plan.racks);
sankey("idcs", plan.idcs);
document.getElementById("lines-table").hidden = !plan.lines.length;
document.getElementById("lines").append(...plan.lines.map(([from, to, size, seconds, cost]) => rowOf(
  [from || "-"], [to || "-"], [bytes(size), "number"], [seconds ? duration(seconds) : "-", "number"],
  [cost === null ? "-" : cost.toFixed(2), "number"])));
document.getElementById("goals-section").hidden = !plan.goals.length;
document.getElementById("goals").append(...plan.goals.map(([goal, hard, before, after, asked, met]) => rowOf(
  [goal + (hard ? " (hard)" : "")], [number(before), "number"], [number(after), "number"], [number(asked), "number"],
  met ? [asked === null ? "-" : "yes"] : ["NO", "alarm"])));
document.getElementById("moves").append(...plan.moves.map(([partition, from, to, size, goal, why, stage]) => rowOf(
  [String(stage), "number"], [partition], [from], [to], [size ? bytes(size) : "nothing", "number"], [goal], [why])));
if (plan.moves_total > plan.moves.length) {
  const note = document.getElementById("left-out");
  note.hidden = false;
  note.textContent = `The first ${plan.moves.length} of ${plan.moves_total} moves: the plan's JSON has them all.`;
}
addEventListener("resize", () => document.querySelectorAll(".chart").forEach((chart) => {
  const drawn = echarts.getInstanceByDom(chart);
  if (drawn) drawn.resize();
}));
