// Keeps the page up to date: hears of changes, loads the page again, and puts its main part in place. Everything works without it.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const live = document.getElementById("live");
  const said = document.getElementById("said");
  let source = null;
  let timer = 0;
  let at = 0;

  const tell = (words) => { if (live.textContent !== words) live.textContent = words; };

  function ages() {
    for (const time of document.querySelectorAll("time[data-age]")) {
      const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
      if (Number.isNaN(seconds)) continue;
      const [size, unit] = seconds < 60 ? [1, "s"] : seconds < 3600 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "days"];
      const words = `${Math.floor(seconds / size)} ${unit}`;
      if (time.textContent !== words) time.textContent = words;
    }
  }

  /** Scrolls a diagram that is wider than the screen to the state of now. */
  function center() {
    const figure = document.querySelector("figure:has(.now)");
    if (!figure) return;
    const [outer, now] = [figure, figure.querySelector(".now")].map((one) => one.getBoundingClientRect());
    figure.scrollLeft += now.left + now.width / 2 - outer.left - outer.width / 2;
  }

  function replace(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const next = page.getElementById("main");
    const before = main();
    if (!next || !next.dataset.events) { location.reload(); return; }
    const focus = document.activeElement && before.contains(document.activeElement) ? document.activeElement.id : "";
    const open = [...before.querySelectorAll("details[open][id]")].map((one) => one.id);
    for (const id of open) { const one = next.querySelector(`#${CSS.escape(id)}`); if (one) one.open = true; }
    const words = next.dataset.said === before.dataset.said ? "" : next.dataset.said;
    const scrolled = before.querySelector("figure")?.scrollLeft;
    before.replaceWith(document.adoptNode(next));
    const figure = next.querySelector("figure");
    if (words) center(); else if (figure && scrolled) figure.scrollLeft = scrolled;
    document.title = page.title;
    if (focus) (document.getElementById(focus) || main()).focus({ preventScroll: true });
    if (words) said.textContent = words;
  }

  async function load() {
    const mine = ++at;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, credentials: "same-origin" });
      if (mine !== at) return;
      if (answer.status === 401) { location.reload(); return; }
      if (answer.ok) replace(await answer.text());
    } catch { /* The next event, or the next connection, loads it again. */ }
  }

  function listen() {
    clearTimeout(timer);
    if (source || document.hidden) return;
    source = new EventSource(main().dataset.events);
    source.addEventListener("open", () => tell("Live"));
    source.addEventListener("change", load);
    source.addEventListener("error", () => {
      tell("The connection is lost. The page tries again.");
      // A browser gives an answer that is no stream up; the page does not.
      if (source && source.readyState === EventSource.CLOSED) { stop(); timer = setTimeout(() => { load(); listen(); }, 10000); }
    });
  }

  function stop() {
    if (source) source.close();
    source = null;
  }

  // A page that nobody sees keeps no connection.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stop(); clearTimeout(timer); } else { load(); listen(); }
  });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) { load(); listen(); } });
  // The answer to an order is read aloud, stays for a while, and is gone with the next change after that.
  const ordered = document.getElementById("ordered");
  if (ordered) {
    said.textContent = ordered.textContent;
    setTimeout(() => history.replaceState(null, "", location.pathname), 15000);
  }
  setInterval(ages, 1000);
  ages();
  center();
  tell("Connecting");
  listen();
})();
