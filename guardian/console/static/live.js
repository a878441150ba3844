"use strict";
// How pages stay live: one stream of events tells what has changed, and what has forms or tables is asked for anew, only
// then. A page whose markup is all that it needs names its feed by data-live, and its parts (macro `live_scripts`); what
// else tickets do with a stream is in tickets.js. Without scripts a page is what it was when it was loaded.
const live = (() => {
  const LEAST_S = 3; // between two looks at a page
  const ANSWER_S = 20;
  const AGAIN_S = 5; // after a stream was refused; then less and less often
  const SELDOM_S = 300;
  const SILENT_S = 20; // without a stream for so long: the page says that it may be old
  const ROOT = "[data-live-part][data-live]";

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

  // What was typed and not sent yet stays, and so do the keyboard's place and how far tables are scrolled.
  function put(part, fresh) {
    const values = typed(part);
    const focus = focused(part);
    const scrolled = [...part.querySelectorAll(".rows")].map((rows) => rows.scrollLeft);
    htmx.swap(part, fresh.outerHTML, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
    const now = document.getElementById(fresh.id);
    for (const field of fields(now)) if (values.has(key(field))) field.value = values.get(key(field));
    now.querySelectorAll(".rows").forEach((rows, index) => { if (scrolled[index]) rows.scrollLeft = scrolled[index]; });
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
  function paced(work, seconds = LEAST_S) {
    let last = 0;
    let waiting = 0;
    return () => {
      const left = last + seconds * 1000 - Date.now();
      if (left <= 0) { last = Date.now(); work(); } else if (!waiting) waiting = setTimeout(() => { waiting = 0; last = Date.now(); work(); }, left);
    };
  }

  // One stream; none while nobody looks at the page. `heard` is told when it opens (true) and breaks off (false).
  function stream(where, change, over, heard = () => {}) {
    let source = null;
    let isOver = false;
    let again = AGAIN_S;
    function close() { if (source) source.close(); source = null; }
    function open() {
      if (isOver || source || document.hidden) return;
      source = new EventSource(where);
      source.addEventListener("open", () => heard(true));
      source.addEventListener("change", (event) => { again = AGAIN_S; change(JSON.parse(event.data)); });
      source.addEventListener("over", () => { isOver = true; close(); if (over) over(); });
      // Browsers ask again for what broke off, but not for what was refused: by a member that knows no leader, say.
      source.addEventListener("error", () => {
        if (!isOver) heard(false);
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

  // A sentence at the top of the page; empty: none.
  function warn(words) {
    const told = document.getElementById("silent");
    told.textContent = words;
    told.hidden = !words;
  }

  // Says since when nothing of the page is renewed: what it shows may not be so any more.
  function silence() {
    let waiting = 0;
    return (isHeard) => {
      if (isHeard) { clearTimeout(waiting); waiting = 0; warn(""); return; }
      if (waiting) return;
      const since = units.clock(Date.now() / 1000, 1);
      const say = () => warn(`Not live since ${since} UTC: the member does not answer, what you see may be old.`);
      waiting = setTimeout(say, SILENT_S * 1000);
    };
  }

  const selector = (part) => `#${CSS.escape(part.id)}`;
  const parts = () => [...document.querySelectorAll("[data-live-part][id]")].map(selector);

  // Each part says by which fingerprint it was made; what the feed tells is compared with that. What is asked for by itself
  // comes first, with the headline that belongs to it: a headline is never better than the numbers below it.
  async function catchUp(message) {
    for (const part of document.querySelectorAll("[data-live-again]")) {
      const told = message[part.dataset.liveKey];
      if (told === undefined || told === part.dataset.liveKnown || isInUse(part)) continue;
      await htmx.ajax("GET", part.dataset.liveAgain, { source: part, target: selector(part), swap: "outerHTML" }).catch(() => {});
    }
    if (document.querySelector(ROOT).dataset.liveKnown !== message.page) await renew(...parts());
  }

  function page(root) {
    let newest = {};
    const renewed = paced(() => catchUp(newest));
    const change = (message) => { newest = message; renewed(); };
    const over = () => warn("Not live any more: what this page shows is gone, or no longer yours to see.");
    stream(root.dataset.live, change, over, silence());
  }

  document.addEventListener("DOMContentLoaded", () => {
    const root = document.querySelector(ROOT);
    if (root) page(root);
  });
  return { isInUse, typed, renew, paced, stream, LEAST_S };
})();
