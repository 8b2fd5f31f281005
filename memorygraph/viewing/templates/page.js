"use strict";
(() => {
  const MAX_HIGHLIGHTS = 2000;
  const WAIT_MS = 120;
  const one = (id) => document.getElementById(id);
  const field = one("search");
  const found = one("found");
  const articles = [...document.querySelectorAll("article")];
  const places = new Map(articles.map((article, place) => [article, place]));
  const parents = articles.map((article) => places.get(article.parentElement.closest("article")) ?? -1);
  const own = articles.map((article) => article.querySelector(":scope > .own"));
  const opened = new Set();
  let texts = null;
  let hits = [];
  let current = -1;
  let timer = 0;

  const open = (details) => {
    if (!details.open) {
      details.open = true;
      opened.add(details);
    }
  };

  const foldOpened = () => {
    for (const details of opened) details.open = false;
    opened.clear();
  };

  const openAround = (element, stop) => {
    for (let at = element; at && at !== stop; at = at.parentElement) {
      if (at.tagName === "DETAILS") open(at);
    }
  };

  const highlight = (wanted) => {
    if (!window.CSS || !CSS.highlights) return;
    const ranges = [];
    for (const place of wanted ? hits : []) {
      const walker = document.createTreeWalker(own[place], NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node && ranges.length < MAX_HIGHLIGHTS; node = walker.nextNode()) {
        const text = node.data.toLowerCase();
        if (text.length !== node.data.length) continue;
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + wanted.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };

  const step = (by) => {
    if (!hits.length) return;
    if (current >= 0) articles[hits[current]].classList.remove("here");
    current = (current + by + hits.length) % hits.length;
    const article = articles[hits[current]];
    article.classList.add("here");
    openAround(article.parentElement, null);
    article.scrollIntoView({ block: "center" });
    found.value = `${current + 1} of ${hits.length} found`;
  };

  const search = () => {
    const wanted = field.value.toLowerCase();
    texts ??= own.map((element) => element.textContent.toLowerCase());
    for (const article of document.querySelectorAll("article.here")) article.classList.remove("here");
    foldOpened();
    current = -1;
    const shown = texts.map((text) => !wanted || text.includes(wanted));
    hits = wanted ? articles.map((_, place) => place).filter((place) => shown[place]) : [];
    for (let place = articles.length - 1; place >= 0; place--) {
      if (shown[place] && parents[place] >= 0) shown[parents[place]] = true;
    }
    articles.forEach((article, place) => { article.hidden = !shown[place]; });
    for (const place of hits) {
      openAround(articles[place].parentElement, null);
      for (const details of own[place].querySelectorAll("details")) {
        if (details.textContent.toLowerCase().includes(wanted)) open(details);
      }
    }
    highlight(wanted);
    found.value = wanted ? `${hits.length} found` : "";
  };

  const foldAll = (unfolded) => {
    opened.clear();
    for (const details of document.querySelectorAll("details")) details.open = unfolded;
  };

  // A link within the page may lead into what is folded.
  const openTarget = () => {
    const target = location.hash && one(decodeURIComponent(location.hash.slice(1)));
    if (target) {
      openAround(target, null);
      target.scrollIntoView();
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
  });
  one("previous").addEventListener("click", () => step(-1));
  one("next").addEventListener("click", () => step(1));
  one("unfold").addEventListener("click", () => foldAll(true));
  one("fold").addEventListener("click", () => foldAll(false));
  window.addEventListener("hashchange", openTarget);
  openTarget();
})();
