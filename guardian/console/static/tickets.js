"use strict";
// What tickets draw, and what their pages do with their streams of events (live.js): figures and charts are set from them;
// what has forms or tables is asked for anew, and only when something of it has changed.
(() => {
  const { isInUse, typed, renew, paced, stream, LEAST_S } = live;
  const SERIES_S = 10;
  const colours = () => ["accent", "warn", "ok", "bad", "info", "dim"].map(guardian.ink);
  const dashes = [undefined, [6, 3], [2, 3], [8, 3, 2, 3], [4, 4], [1, 2]];

  function frame(place, show, more) {
    return {
      width: Math.max(place.clientWidth, 200),
      height: place.clientHeight - 30,
      ...guardian.overTime(show),
      ...more,
    };
  }

  // Bytes left, then when they may be gone: soon, likely, late. From now on each of the three has a value at every time.
  guardian.chart("burn-down", (place, data) => {
    const show = guardian.shows.bytes;
    const [accent, , , , , dim] = colours();
    const value = (_, each) => (each === null || each === undefined ? "-" : show(each));
    const line = (label, stroke, dash, width = 1) => ({ label, stroke, dash, width, spanGaps: true, points: { show: false }, value });
    const options = frame(place, show, {
      series: [guardian.time, line("left", accent, undefined, 2), line("soon", dim, [2, 3]), line("likely", accent, [6, 3], 1.5), line("late", dim, [2, 3])],
      bands: [{ series: [4, 2], fill: guardian.ink("band") }],
      scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.05, 1)] } },
    });
    const rows = (from) => [from.at, from.left, from.soon, from.likely, from.late];
    let plot = null;
    function update(next) {
      if (plot) { plot.setData(rows(next)); return; }
      place.textContent = next.at.length ? "" : "Nothing has begun to move yet.";
      if (next.at.length) plot = new uPlot(options, rows(next), place);
    }
    update(data);
    return { resize: (width) => plot && plot.setSize({ width, height: options.height }), update, end: () => plot && plot.destroy() };
  });

  // Some lines on one axis of time; those of one page have their cursor in common.
  guardian.chart("steps", (place, data) => {
    const show = guardian.shows[data.show] || guardian.shows.number;
    const stepped = data.show === "rate" ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    let height = place.clientHeight - 30;
    let plot = null;
    function make(from) {
      if (plot) plot.destroy();
      plot = null;
      if (!from.labels.length) { place.textContent = from.waits ? "Nothing is known of this time." : ""; return; }
      place.textContent = "";
      const inks = colours();
      const options = frame(place, show, {
        series: [guardian.time, ...from.labels.map((label, index) => ({
          label, stroke: inks[index % inks.length], dash: dashes[index % dashes.length], width: 1.5, spanGaps: !stepped.paths, points: { show: false }, ...stepped,
          value: (_, each) => (each === null || each === undefined ? "-" : show(each)),
        }))],
        scales: { x: { range: (_, low, high) => (from.from ? [from.from, from.to] : [low, high]) }, y: { range: (_, low, high) => [0, Math.max(from.highest || 0, high * 1.1, 1e-9)] } },
        cursor: { sync: { key: "ticket" }, points: { size: 6 } },
      });
      options.height = height;
      plot = new uPlot(options, [from.at, ...from.values], place);
    }
    make(data);
    let known = data.labels.join();
    return {
      resize: (width) => plot && plot.setSize({ width, height }),
      update(next) {
        if (plot && next.labels.join() === known) plot.setData([next.at, ...next.values]);
        else make(next);
        known = next.labels.join();
      },
      end: () => plot && plot.destroy(),
    };
  });

  const text = (root, selector, words) => root.querySelectorAll(selector).forEach((each) => { if (each.textContent !== String(words)) each.textContent = words; });

  function series(root) {
    const form = document.querySelector("[data-series-form]");
    if (!form) return () => {};
    const chosen = form.querySelector("[data-series-broker]");
    async function load() {
      const answer = await fetch(root.dataset.series + (chosen.value ? `?broker=${chosen.value}` : ""));
      if (!answer.ok) return;
      const found = await answer.json();
      for (const broker of found.brokers) {
        if (![...chosen.options].some((option) => option.value === String(broker))) chosen.add(new Option(`broker ${broker}`, broker));
      }
      text(form, "[data-series-remark]", found.remark);
      for (const [id, show, highest] of [["rate", "rate", 0], ["busy", "share", 1], ["p99", "ms", 0]]) {
        const drawing = document.getElementById(id);
        if (drawing) guardian.update(drawing, { ...found[id], show, highest, from: found.from, to: found.to, waits: true });
      }
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    chosen.addEventListener("change", load);
    load();
    return load;
  }

  function one(root) {
    // What was refused is told where it was asked for: no address to ask again.
    if (document.getElementById("refused")) history.replaceState(null, "", root.dataset.series.replace(/\/series$/, ""));
    const load = paced(series(root), SERIES_S);
    const heads = () => renew("#head", "#state", "#history");
    const parts = paced(() => renew("#parts"), LEAST_S);
    let { head, tasks, state } = root.dataset;
    // Not under the hands of somebody: when he sends what he has typed the page is loaded anyway.
    let waits = 0;
    function loadAgain() {
      clearTimeout(waits);
      if (isInUse(document.body) || typed(document.body).size) waits = setTimeout(loadAgain, LEAST_S * 1000); else location.reload();
    }
    const change = (message) => {
      const found = message.figures;
      for (const name of ["percent", "copied", "left", "rate", "eta", "note", "throttles"]) {
        text(root, `[data-figure="${name}"]`, found[name] === null ? "-" : found[name]);
      }
      for (const [name, count] of Object.entries(found.tasks)) {
        text(root, `[data-task="${name}"]`, name === "RUNNING" ? count + found.tasks.REVERTING : count);
      }
      document.getElementById("share").value = found.share || 0;
      const burn = document.getElementById("burn");
      if (burn) guardian.update(burn, message.burn);
      if (found.state !== state) guardian.say(`The ticket is ${found.state} now`);
      if (message.head !== head) {
        // It has begun: there is more to show.
        if (!burn && message.burn.at.length) loadAgain();
        heads();
      }
      if (message.tasks !== tasks) { parts(); load(); }
      [head, tasks, state] = [message.head, message.tasks, found.state];
    };
    if (root.dataset.live) stream(root.dataset.live, change, () => { heads(); parts(); load(); });
  }

  function list(root) {
    let { known } = root.dataset;
    const renewed = paced(() => renew("#tickets-list"), LEAST_S);
    stream(root.dataset.live, (message) => {
      if (message.list !== known) renewed();
      known = message.list;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const ticket = document.getElementById("ticket");
    if (ticket) one(ticket);
    const listed = document.querySelector("[data-live-list]");
    if (listed) list(listed);
  });
})();
