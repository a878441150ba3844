"use strict";
// Numbers as people read them. Every page has it, also the one of a plan that needs nothing beside itself.
const units = (() => {
  function bytes(value) {
    const names = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (Math.abs(value) >= 999.5 && unit < names.length - 1) { value /= 1000; unit += 1; }
    return `${unit && Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0)} ${names[unit]}`;
  }
  function duration(seconds) {
    if (seconds < 90) return `${seconds.toFixed(0)} s`;
    if (seconds < 5400) return `${(seconds / 60).toFixed(0)} min`;
    return `${(seconds / 3600).toFixed(1)} h`;
  }
  // Of seconds since the epoch, in UTC, which people of several time zones can compare; `step` is how far apart they are.
  function clock(seconds, step = 60) {
    const [date, time] = new Date(seconds * 1000).toISOString().split("T");
    if (step >= 3600 && time.startsWith("00:00")) return date.slice(5);
    return time.slice(0, step < 60 ? 8 : 5);
  }
  return {
    bytes,
    clock,
    duration,
    rate: (value) => `${bytes(value)}/s`,
    share: (value) => `${(value * 100).toFixed(0)} %`,
    number: (value) => String(Math.round(value * 100) / 100),
    ms: (value) => `${Math.round(value)} ms`,
  };
})();
