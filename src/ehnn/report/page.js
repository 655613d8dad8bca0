"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (name, attributes, ...children) => {
    const svg = ["circle", "line", "g"].includes(name);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // ---- light and dark: the system's choice until the button is pressed
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = { // a page opened from a file may not be allowed to store anything
    get() { try { return localStorage.getItem("ehnn-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("ehnn-theme", value); } catch { /* for this visit only */ } },
  };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const showTheme = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  if (["light", "dark"].includes(stored.get())) root.dataset.theme = stored.get();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored.set(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // ---- switches: linear or log, counts or percent, hulls or stars
  const applySwitch = (input) => {
    for (const part of all("[data-view]", input.closest("figure"))) {
      part.toggleAttribute("hidden", part.dataset.view !== input.value);
    }
  };
  for (const input of all(".switch input")) {
    input.addEventListener("change", () => applySwitch(input));
    if (input.checked) applySwitch(input); // a reload keeps the choice of the reader in some browsers
  }

  // ---- which runs are shown
  const shown = (run) => { const box = document.querySelector(`[data-shows="${run}"]`); return !box || box.checked; };
  const applyRuns = (box) => {
    for (const part of all(`[data-run="${box.dataset.shows}"]`)) part.toggleAttribute("hidden", !box.checked);
  };
  for (const box of all("[data-shows]")) {
    box.addEventListener("change", () => applyRuns(box));
    applyRuns(box);
  }

  // ---- values under the pointer, or at the place the arrow keys have reached
  const nearest = (values, wanted) => {
    let low = 0, high = values.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (values[middle] < wanted) low = middle; else high = middle;
    }
    return wanted - values[low] <= values[high] - wanted ? low : high;
  };
  const written = (value) => value === null ? "–" : String(Number(value.toPrecision(4)));
  const readable = (figure) => {
    const series = JSON.parse(figure.dataset.lines);
    const tip = make("div", { class: "tip", "aria-live": "polite", hidden: "" });
    figure.append(tip);
    for (const svg of all("svg.lines", figure)) {
      const [left, right, top, bottom, x0, x1, y0, y1, log] = svg.dataset.frame.split(" ").map(Number);
      const scale = log ? Math.log : (value) => value;
      const across = (x) => left + (right - left) * (x - x0) / (x1 - x0);
      const up = (y) => bottom - (bottom - top) * (scale(y) - scale(y0)) / (scale(y1) - scale(y0));
      const cursor = svg.querySelector(".cursor"), hair = svg.querySelector(".hair");
      let epoch = null;
      const hide = () => { cursor.setAttribute("hidden", ""); tip.hidden = true; };
      const show = (wanted) => {
        const seen = series.filter((one) => shown(one.run));
        if (!seen.length) return hide();
        const places = seen.map((one) => nearest(one.x, wanted));
        epoch = seen.map((one, i) => one.x[places[i]])
          .reduce((a, b) => Math.abs(b - wanted) < Math.abs(a - wanted) ? b : a);
        hair.setAttribute("x1", across(epoch));
        hair.setAttribute("x2", across(epoch));
        cursor.replaceChildren(hair);
        const rows = [];
        seen.forEach((one, i) => {
          const x = one.x[places[i]], y = one.y[places[i]];
          if (y !== null) cursor.append(make("circle", { cx: across(x), cy: up(y), r: 4, class: `dot s${one.style}` }));
          rows.push(make("div", { class: `s${one.style}` }, make("span", { class: "swatch" }), `${one.name} ${written(y)}`));
        });
        tip.replaceChildren(make("b", {}, `epoch ${epoch}`), ...rows);
        cursor.removeAttribute("hidden");
        tip.hidden = false;
        const box = svg.getBoundingClientRect(), outer = figure.getBoundingClientRect();
        const place = box.left - outer.left + across(epoch) * box.width / svg.viewBox.baseVal.width;
        const flip = place > outer.width / 2;
        tip.style.left = flip ? "auto" : `${place + 14}px`;
        tip.style.right = flip ? `${outer.width - place + 14}px` : "auto";
        tip.style.top = `${box.top - outer.top + top * box.height / svg.viewBox.baseVal.height}px`;
      };
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const at = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
        show(x0 + (x1 - x0) * (at - left) / (right - left));
      });
      svg.addEventListener("pointerleave", hide);
      svg.addEventListener("blur", hide);
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (event.key === "Escape") hide();
        const ends = { Home: x0, End: x1 }[event.key];
        if (step === undefined && ends === undefined) return;
        event.preventDefault();
        if (ends !== undefined) return show(ends);
        const known = series.filter((one) => shown(one.run)).map((one) => one.x);
        if (!known.length) return hide();
        const line = known.reduce((a, b) => b.length > a.length ? b : a);
        const from = epoch === null ? -1 : nearest(line, epoch);
        show(line[Math.max(0, Math.min(line.length - 1, from + step))]);
      });
    }
  };
  all("figure[data-lines]").forEach(readable);
})();
