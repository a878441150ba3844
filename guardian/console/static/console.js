"use strict";
// What every page has: drawings, the key to the search, tokens on what htmx sends. Pages work without it.
//
// A drawing is <figure data-chart="KIND"> with its data as JSON inside (macro `chart`). A script registers how a kind is
// drawn: guardian.chart("burn-down", (place, data, figure) => { ...; return { resize(width) {}, update(data) {}, end() {} }; })
// It is drawn when it comes near the screen, drawn anew when light becomes dark, and ended when htmx takes it away.
const guardian = (() => {
  const kinds = new Map();
  const drawn = new Map();
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function draw(figure) {
    const kind = kinds.get(figure.dataset.chart);
    if (!kind || drawn.has(figure)) return;
    const source = figure.querySelector("script[type='application/json']");
    figure.classList.add("drawn");
    drawn.set(figure, kind(figure.querySelector(".canvas"), JSON.parse(source.textContent), figure) || {});
    sizes.observe(figure);
  }
  function erase(figure) {
    const one = drawn.get(figure);
    if (!one) return;
    drawn.delete(figure);
    sizes.unobserve(figure);
    if (one.end) one.end();
    figure.querySelector(".canvas").replaceChildren();
  }
  const sizes = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const one = drawn.get(entry.target);
      if (one && one.resize && entry.contentRect.width) one.resize(entry.contentRect.width);
    }
  });
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { near.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "400px" });
  function look(root) {
    const figures = root.querySelectorAll ? [...root.querySelectorAll("[data-chart]")] : [];
    if (root.matches && root.matches("[data-chart]")) figures.push(root);
    for (const figure of figures) if (kinds.has(figure.dataset.chart) && !drawn.has(figure)) near.observe(figure);
  }
  function again() {
    for (const figure of [...drawn.keys()]) { erase(figure); draw(figure); }
  }
  // What all drawings over time have in common: axes in the page's colours, times of UTC.
  function overTime(show) {
    const axis = { stroke: ink("dim"), grid: { stroke: ink("line"), width: 1 }, ticks: { stroke: ink("line") } };
    const times = (_, splits, at, space, step) => splits.map((one) => units.clock(one, step));
    return {
      // Room for hours, minutes and seconds.
      axes: [{ ...axis, space: 72, values: times }, { ...axis, size: 92, values: (_, values) => values.map(show) }],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      legend: { live: true },
      cursor: { points: { size: 6 } },
    };
  }
  const time = { label: "UTC", value: (_, at) => (at === null || at === undefined ? "-" : units.clock(at, 1)) };
  return {
    ink,
    overTime,
    time,
    shows: units,
    // Registers how a kind is drawn, and draws those that wait for it.
    chart(kind, make) { kinds.set(kind, make); look(document); },
    // New data for a drawing, as a live page gets it.
    update(figure, data) {
      figure.querySelector("script[type='application/json']").textContent = JSON.stringify(data);
      const one = drawn.get(figure);
      if (one && one.update) one.update(data);
      else if (one) { erase(figure); draw(figure); }
    },
    // What a screen reader says next.
    say(words) { document.getElementById("said").textContent = words; },
    look,
    begin() {
      look(document);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
      document.addEventListener("htmx:load", (event) => look(event.target));
      document.addEventListener("htmx:beforeCleanupElement", (event) => { if (drawn.has(event.target)) erase(event.target); });
      document.addEventListener("htmx:configRequest", (event) => {
        if (event.detail.verb !== "get") {
          event.detail.headers["X-CSRF-Token"] = document.querySelector("meta[name='csrf-token']").content;
        }
      });
      // An answer that is an error says why: it is shown where the answer was awaited.
      document.addEventListener("htmx:beforeSwap", (event) => {
        if (event.detail.xhr.status >= 400) { event.detail.shouldSwap = true; event.detail.isError = false; }
      });
      // A page that is still being read asks for itself again, but not under the hands of somebody who types in it.
      document.addEventListener("htmx:beforeSwap", ({ detail }) => {
        const asks = detail.requestConfig.elt;
        const isTyped = (field) => field === document.activeElement || field.value !== field.defaultValue;
        const isHeld = () => [...detail.target.querySelectorAll("input:not([type=hidden])")].some(isTyped);
        if (detail.target.id !== "content" || !isHeld()) return;
        detail.shouldSwap = false;
        const later = () => setTimeout(() => {
          if (!asks.isConnected) return;
          if (isHeld()) later();
          else htmx.ajax("GET", detail.pathInfo.requestPath, { source: asks, target: "#content" }).catch(later);
        }, 1000);
        later();
      });
      document.addEventListener("keydown", (event) => {
        const typing = event.target.closest("input, textarea, select, [contenteditable]");
        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          document.getElementById("find").focus();
        }
      });
    },
  };
})();
document.addEventListener("DOMContentLoaded", guardian.begin);
