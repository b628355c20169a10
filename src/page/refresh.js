"use strict";
// Keeps a page as it would be if it were loaded again. Without this script the page is whole, and stands still.
(() => {
  const body = document.body;
  const lost = document.getElementById("lost");
  const said = document.getElementById("said");
  // What a screen reader hears: a new phase at once, figures now and then.
  const sayEvery = 30000;
  const last = new Map();
  let phase = body.dataset.phase;
  let saidAt = Date.now();

  const placeOf = (element) => {
    if (!element || !element.getAttribute) return null;
    if (element.id) return "#" + CSS.escape(element.id);
    const href = element.getAttribute("href");
    return href ? `a[href="${CSS.escape(href)}"]` : null;
  };

  const replace = (part, next) => {
    const focus = part.contains(document.activeElement) ? placeOf(document.activeElement) : null;
    const moved = [...part.querySelectorAll(".wide[id]")].map((at) => [at.id, at.scrollLeft]);
    const open = [...part.querySelectorAll("details[id]")].map((at) => [at.id, at.open]);
    part.replaceChildren(...next.childNodes);
    for (const [id, left] of moved) {
      const at = document.getElementById(id);
      if (at) at.scrollLeft = left;
    }
    for (const [id, isOpen] of open) {
      const at = document.getElementById(id);
      if (at) at.open = isOpen;
    }
    if (focus) part.querySelector(focus)?.focus({ preventScroll: true });
  };

  const show = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const head = fresh.querySelector("[data-phase]");
    for (const part of document.querySelectorAll("[data-part]")) {
      const name = part.dataset.part;
      const next = fresh.querySelector(`[data-part="${CSS.escape(name)}"]`);
      if (!next || last.get(name) === next.innerHTML) continue;
      last.set(name, next.innerHTML);
      replace(part, next);
    }
    if (head) tell(head);
    lost.hidden = true;
  };

  const at = (text) => {
    const place = document.getElementById("at");
    if (place) place.textContent = text;
    lost.hidden = true;
  };

  const tell = (head) => {
    if (head.dataset.title) document.title = head.dataset.title;
    const isNew = head.dataset.phase !== phase;
    if (!said || !isNew && Date.now() - saidAt < sayEvery) return;
    phase = head.dataset.phase;
    if (said.textContent === head.dataset.said) return;
    saidAt = Date.now();
    said.textContent = head.dataset.said;
  };

  // By events, while somebody looks: a browser has six connections to one place, and each page that listens holds one.
  // Whoever has the port of a program that has ended would be asked next: it has to know what this page knows.
  let source = null;
  let known = false;
  const listen = () => {
    if (source) return;
    source = new EventSource(body.dataset.events);
    source.addEventListener("open", () => { known = false; });
    source.addEventListener("proof", (event) => {
      known = event.data === body.dataset.proof;
      if (!known) { close(); lost.hidden = false; }
    });
    source.addEventListener("page", (event) => { if (known) show(event.data); });
    source.addEventListener("at", (event) => { if (known) at(event.data); });
    source.addEventListener("gone", () => { close(); lost.hidden = false; });
    source.addEventListener("error", () => { lost.hidden = false; });
  };
  const close = () => { source?.close(); source = null; };

  // Or by loading the page again.
  let timer = null;
  const load = async () => {
    try {
      const reply = await fetch(location.href, { cache: "no-store", redirect: "error" });
      if (!reply.ok) throw new Error(String(reply.status));
      show(await reply.text());
    } catch {
      lost.hidden = false;
    }
    timer = setTimeout(load, Number(body.dataset.every));
  };

  const begin = () => {
    if (document.hidden) {
      close();
      clearTimeout(timer);
      timer = null;
    } else if (body.dataset.events) {
      listen();
    } else if (body.dataset.every && timer === null) {
      timer = setTimeout(load, Number(body.dataset.every));
    }
  };
  document.addEventListener("visibilitychange", begin);
  begin();
})();
