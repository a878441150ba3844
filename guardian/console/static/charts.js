"use strict";
// The drawings of the read pages. Data comes ready from the server: nothing is computed here but pixels.

// The places of values that have none beside them: a line has two ends, so these are drawn as points.
const lonely = (plot, series) => {
  const values = plot.data[series];
  const known = (place) => values[place] !== null && values[place] !== undefined;
  return [...values.keys()].filter((place) => known(place) && !known(place - 1) && !known(place + 1));
};

// Lines over time. data: { times: [ms], series: [{ name, values, show }], show, highest }
guardian.chart("lines", (place, data) => {
  const show = guardian.shows[data.show] || guardian.shows.number;
  const colours = ["accent", "warn", "ok", "bad", "dim"].map(guardian.ink);
  const height = place.clientHeight - 34;
  const options = {
    width: place.clientWidth, height,
    series: [
      guardian.time,
      ...data.series.map((one, index) => ({
        label: one.name, stroke: colours[index % colours.length], width: 1.5, spanGaps: false,
        points: { show: true, filter: lonely, size: 4 },
        dash: index % 2 ? [6, 3] : undefined, value: (_, value) => (value === null || value === undefined ? "-" : show(value)),
      })),
    ],
    scales: { y: { range: (_, low, high) => [0, Math.max(data.highest || 0, high * 1.05, 1e-9)] } },
    ...guardian.overTime(show),
  };
  const rows = (from) => [from.times.map((at) => at / 1000), ...from.series.map((one) => one.values)];
  const plot = new uPlot(options, rows(data), place);
  return {
    resize: (width) => plot.setSize({ width, height }),
    update: (next) => plot.setData(rows(next)),
    end: () => plot.destroy(),
  };
});

// Rows over time. data: { times: [ms], rows: [{ name, href, values }], show, highest }; null: nothing is known.
guardian.chart("heat", (place, data, figure) => {
  const show = guardian.shows[data.show] || guardian.shows.number;
  const rowHeight = Math.max(2, Math.min(18, Math.floor(520 / Math.max(1, data.rows.length))));
  const left = rowHeight >= 9 ? 72 : 8;
  const canvas = document.createElement("canvas");
  const label = document.createElement("p");
  label.className = "dim heat-label";
  const scale = `Colours from 0 to ${show(data.highest || 0)}; empty: not known`;
  place.append(canvas, label);
  place.style.height = "auto";
  const colours = [0, 1, 2, 3, 4, 5].map((step) => guardian.ink(`heat-${step}`));
  const colourOf = (value) => {
    const share = data.highest ? value / data.highest : 0;
    return colours[share >= 0.95 ? 5 : share >= 0.8 ? 4 : share >= 0.5 ? 3 : share >= 0.2 ? 2 : share >= 0.05 ? 1 : 0];
  };
  let cell = 1;
  function paint(width) {
    const ratio = devicePixelRatio || 1;
    const height = data.rows.length * rowHeight + 18;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    cell = (width - left) / Math.max(1, data.times.length);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const gap = rowHeight >= 6 ? 1 : 0;
    data.rows.forEach((row, index) => {
      const top = index * rowHeight;
      if (left > 8) { pen.fillStyle = guardian.ink("dim"); pen.fillText(row.name, 0, top + rowHeight / 2, left - 6); }
      row.values.forEach((value, step) => {
        if (value === null) return;
        pen.fillStyle = colourOf(value);
        pen.fillRect(left + step * cell, top, Math.max(1, cell - (cell > 4 ? 1 : 0)), rowHeight - gap);
      });
    });
    pen.fillStyle = guardian.ink("dim");
    if (data.times.length) {
      pen.fillText(`${units.clock(data.times[0] / 1000)} UTC`, left, height - 8);
      const last = units.clock(data.times[data.times.length - 1] / 1000);
      pen.fillText(last, width - pen.measureText(last).width, height - 8);
    }
  }
  const at = (event) => {
    const step = Math.floor((event.offsetX - left) / cell);
    const row = data.rows[Math.floor(event.offsetY / rowHeight)];
    return row && step >= 0 && step < data.times.length ? [row, step] : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = at(event);
    label.textContent = found
      ? `${found[0].name}, ${units.clock(data.times[found[1]] / 1000)} UTC: ${found[0].values[found[1]] === null ? "not known" : show(found[0].values[found[1]])}`
      : scale;
  });
  canvas.addEventListener("click", (event) => {
    const found = at(event);
    if (found && found[0].href) location.href = found[0].href;
  });
  label.textContent = scale;
  paint(figure.clientWidth);
  return { resize: paint };
});
