"use strict";
// The drawings of plans (plan-charts.js), as drawings of the console.
(() => {
  const heightOf = (figure) => parseInt(getComputedStyle(figure).getPropertyValue("--height"), 10) || 300;

  guardian.chart("bars", (place, data, figure) => {
    const resources = document.createElement("div");
    resources.className = "resources";
    resources.setAttribute("role", "group");
    resources.setAttribute("aria-label", `What to show of ${data.place}s`);
    const canvas = document.createElement("div");
    canvas.setAttribute("role", "img");
    place.style.height = "auto";
    place.removeAttribute("role");
    place.append(resources, canvas);
    const words = figure.querySelector("figcaption");
    const spreadOf = (name) => data.spreads[`${data.place}${name === "traffic" ? "" : ` ${name}`}`];
    let drawn = null;
    planCharts.choices(resources, data.rows, spreadOf, data.first, (name) => {
      drawn = planCharts.bars(canvas, heightOf(figure), data.rows[name], name, spreadOf(name), (told) => { words.textContent = told; });
    });
    return { resize: (width) => drawn && drawn.resize({ width }), end: () => drawn && drawn.dispose() };
  });

  guardian.chart("flows", (place, flows, figure) => {
    const drawn = planCharts.flows(place, heightOf(figure), flows);
    return { resize: (width) => drawn.resize({ width }), end: () => drawn.dispose() };
  });
})();
