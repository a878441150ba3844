"use strict";
// What tickets draw, and how their pages stay live: one stream of events, from which figures and charts are set; what has
// forms or tables is asked for anew, and only when something of it has changed.
(() => {
  const LEAST_S = 3; // between two looks at a table
  const ANSWER_S = 20;
  const AGAIN_S = 5; // after a stream was refused; then less and less often
  const SELDOM_S = 300;
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

  // Where the keyboard is in a part; the part itself has an id, by which htmx finds it again.
  function focused(part) {
    const at = document.activeElement;
    if (at === part || !part.contains(at)) return null;
    const marks = ["href", "formaction", "name", "tabindex"].filter((name) => at.hasAttribute(name));
    const like = at.localName + marks.map((name) => `[${name}="${CSS.escape(at.getAttribute(name))}"]`).join("");
    return { like, index: [...part.querySelectorAll(like)].indexOf(at) };
  }

  // What was typed and not sent yet stays, and so does the keyboard's place.
  function put(part, fresh) {
    const values = typed(part);
    const focus = focused(part);
    htmx.swap(part, fresh.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
    const now = document.getElementById(fresh.id);
    for (const field of fields(now)) if (values.has(key(field))) field.value = values.get(key(field));
    const again = focus && now.querySelectorAll(focus.like)[focus.index];
    if (again) again.focus({ preventScroll: true });
  }

  // The page as it is now; null when it is to be asked for again.
  async function asked() {
    try {
      const answer = await fetch(location.pathname + location.search, { signal: AbortSignal.timeout(ANSWER_S * 1000) });
      if (answer.status >= 500 || answer.status === 429) return null;
      return new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch { return null; }
  }

  // Parts of the page as they are now. One request at a time: what changes while an answer is awaited may not be in it.
  const wanted = new Set();
  let isAsking = false;
  let later = 0;
  async function renewWanted() {
    const free = () => [...wanted].filter((selector) => !isInUse(document.querySelector(selector)));
    for (let parts = free(); parts.length; parts = free()) {
      parts.forEach((selector) => wanted.delete(selector));
      const found = await asked();
      if (!found) { parts.forEach((selector) => wanted.add(selector)); return; }
      for (const selector of parts) {
        const part = document.querySelector(selector);
        const fresh = found.querySelector(selector);
        if (isInUse(part)) wanted.add(selector);
        else if (fresh) put(part, fresh);
      }
    }
  }
  async function renew(...selectors) {
    for (const selector of selectors) if (document.querySelector(selector)) wanted.add(selector);
    if (isAsking) return;
    isAsking = true;
    try { await renewWanted(); } finally { isAsking = false; }
    if (wanted.size && !later) later = setTimeout(() => { later = 0; renew(); }, LEAST_S * 1000);
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
    let isOver = false;
    let again = AGAIN_S;
    function close() { if (source) source.close(); source = null; }
    function open() {
      if (isOver || source || document.hidden) return;
      source = new EventSource(where);
      source.addEventListener("change", (event) => { again = AGAIN_S; change(JSON.parse(event.data)); });
      source.addEventListener("over", () => { isOver = true; close(); if (over) over(); });
      // Browsers ask again for what broke off, but not for what was refused: by a member that knows no leader, say.
      source.addEventListener("error", () => {
        if (!source || source.readyState !== EventSource.CLOSED) return;
        source = null;
        setTimeout(open, again * 1000);
        again = Math.min(again * 2, SELDOM_S); // who is signed out is refused, and each refusal counts against his address
      });
    }
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    addEventListener("pagehide", close);
    open();
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
