"use strict";
// What tickets draw, and how their pages stay live: one stream of events, from which figures and charts are set; what has
// forms or tables is asked for anew, and only when something of it has changed.
(() => {
  const LEAST_S = 3; // between two looks at a table
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

  // Somebody types in it or is about to let a button go: it is left as it is for a while.
  const isInUse = (part) => part.querySelector("input:focus, select:focus, textarea:focus, :active") !== null;
  const given = (field) => (field.matches("select") ? ([...field.options].find((one) => one.defaultSelected) || field.options[0])?.value : field.defaultValue);
  const key = (field) => `${field.form ? field.form.getAttribute("action") : ""} ${field.name}`;
  const fields = (part) => [...part.querySelectorAll("input, select, textarea")];
  const typed = (part) => new Map(fields(part).filter((field) => field.value !== given(field)).map((field) => [key(field), field.value]));

  // A part of the page as it is now. What was typed in it and not sent yet stays, also what is typed until the answer comes.
  const later = new Map();
  function renew(selector) {
    const part = document.querySelector(selector);
    if (!part) return;
    if (isInUse(part)) { postpone(selector); return; }
    // Of one source only the last request would be kept: each part is its own.
    htmx.ajax("GET", location.pathname + location.search, { source: part, target: selector, select: selector, swap: "outerHTML" });
  }
  function postpone(selector) {
    if (!later.has(selector)) later.set(selector, setTimeout(() => { later.delete(selector); renew(selector); }, LEAST_S * 1000));
  }
  function keepWhatIsTyped() {
    const kept = new Map();
    document.addEventListener("htmx:beforeSwap", ({ detail }) => {
      const part = detail.target;
      if (detail.elt !== part || !part.id) return;
      if (isInUse(part)) { detail.shouldSwap = false; postpone(`#${part.id}`); } else kept.set(part.id, typed(part));
    });
    document.addEventListener("htmx:afterSwap", ({ target }) => {
      const values = kept.get(target.id);
      if (!values) return;
      kept.delete(target.id);
      for (const field of fields(target)) if (values.has(key(field))) field.value = values.get(key(field));
    });
  }
  // At once, then not before some seconds are over; what is asked for meanwhile is done at their end.
  function paced(work, seconds) {
    let last = 0;
    let waiting = 0;
    return () => {
      const left = last + seconds * 1000 - Date.now();
      if (left <= 0) { last = Date.now(); work(); } else if (!waiting) waiting = setTimeout(() => { waiting = 0; last = Date.now(); work(); }, left);
    };
  }

  // One stream; none while nobody looks at the page.
  function stream(where, change, over) {
    let source = null;
    function open() {
      source = new EventSource(where);
      source.addEventListener("change", (event) => change(JSON.parse(event.data)));
      source.addEventListener("over", () => { source.close(); source = null; document.removeEventListener("visibilitychange", looked); if (over) over(); });
    }
    function looked() {
      if (document.hidden && source) { source.close(); source = null; } else if (!document.hidden && !source) open();
    }
    document.addEventListener("visibilitychange", looked);
    addEventListener("pagehide", () => source && source.close());
    if (!document.hidden) open();
  }

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
    const load = paced(series(root), SERIES_S);
    const heads = () => ["#head", "#state", "#history"].forEach(renew);
    const parts = paced(() => renew("#parts"), LEAST_S);
    let { head, tasks, state } = root.dataset;
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
        if (!burn && message.burn.at.length) location.reload();
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
    keepWhatIsTyped();
    const ticket = document.getElementById("ticket");
    if (ticket) one(ticket);
    const listed = document.querySelector("[data-live-list]");
    if (listed) list(listed);
  });
})();
