"use strict";
// The page of a plan that needs nothing beside itself: what its payload says, in its places.
const plan = JSON.parse(document.getElementById("payload").textContent);
const BARS_HEIGHT = 320;

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

function nothing(id, text) {
  const chart = document.getElementById(id);
  chart.classList.add("empty");
  chart.textContent = text;
}

function beforeAndAfter(of, kind) {
  const summary = document.querySelector(`.summary[data-of="${of}"]`);
  const spreadOf = (resource) => {
    const found = plan.spreads.find(([name]) => name === `${kind}${resource === "traffic" ? "" : ` ${resource}`}`);
    return found && found.slice(1);
  };
  const draw = (resource) => planCharts.bars(
    document.getElementById(of), BARS_HEIGHT, plan[of][resource], resource, spreadOf(resource), (words) => { summary.textContent = words; });
  const tabs = document.querySelector(`.tabs[data-of="${of}"]`);
  if (!planCharts.choices(tabs, plan[of], spreadOf, "", draw)) nothing(of, "The plan has no figures for these.");
}

function copied(id, flows) {
  if (!flows.length) return nothing(id, "Nothing is copied between these.");
  const places = new Set(flows.flatMap(([from, to]) => [`from ${from}`, `to ${to}`])).size;
  return planCharts.flows(document.getElementById(id), Math.min(900, Math.max(140, 18 * places + 60)), flows);
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
figure("to copy", units.bytes(plan.bytes));
if (plan.takes) figure(`at ${units.rate(plan.throttle)} a broker, where clients leave room`, plan.takes);
for (const [kind, before, after] of plan.spreads) {
  const [place, resource] = kind.startsWith("log dir") ? ["Log dirs", kind.slice(8)] : ["Brokers", kind.slice(7)];
  figure(`${place}: ${planCharts.titleOf(resource || "traffic")}, spread`, `${before.toFixed(2)} → ${after.toFixed(2)}`);
}
sentences("unmet", plan.unmet);
sentences("notes", plan.notes);
beforeAndAfter("brokers", "broker");
beforeAndAfter("log_dirs", "log dir");
copied("racks", plan.racks);
copied("idcs", plan.idcs);
document.getElementById("lines-table").hidden = !plan.lines.length;
document.getElementById("lines").append(...plan.lines.map(([from, to, size, seconds, cost]) => rowOf(
  [from || "-"], [to || "-"], [units.bytes(size), "number"], [seconds ? units.duration(seconds) : "-", "number"],
  [cost === null ? "-" : cost.toFixed(2), "number"])));
document.getElementById("goals-section").hidden = !plan.goals.length;
document.getElementById("goals").append(...plan.goals.map(([goal, hard, before, after, asked, met]) => rowOf(
  [goal + (hard ? " (hard)" : "")], [number(before), "number"], [number(after), "number"], [number(asked), "number"],
  met ? [asked === null ? "-" : "yes"] : ["NO", "alarm"])));
document.getElementById("moves").append(...plan.moves.map(([partition, from, to, size, goal, why, stage]) => rowOf(
  [String(stage), "number"], [partition], [from], [to], [size ? units.bytes(size) : "nothing", "number"], [goal], [why])));
if (plan.moves_total > plan.moves.length) {
  const note = document.getElementById("left-out");
  note.hidden = false;
  note.textContent = `The first ${plan.moves.length} of ${plan.moves_total} moves: the plan's JSON has them all.`;
}
addEventListener("resize", () => document.querySelectorAll(".chart").forEach((chart) => {
  const drawn = echarts.getInstanceByDom(chart);
  if (drawn) drawn.resize();
}));
