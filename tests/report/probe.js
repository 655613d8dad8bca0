// What the tests ask of a page. Loaded after the page, as `probe`.
globalThis.probe = (() => {
  const visible = (e) => e.getClientRects().length > 0;
  const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);

  /** Elements that stick out of the window, other than in boxes that scroll. */
  const outside = () => all("body *")
    .filter((e) => !e.closest(".scroll") && !e.closest(".skip"))
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)
    .map((e) => e.outerHTML.slice(0, 120));

  /** Words that are cut off by the edge of their drawing. */
  const clipped = () => all("svg[role=img] text").filter((e) => {
    const word = e.getBoundingClientRect(), box = e.closest("svg").getBoundingClientRect();
    const gaps = [word.left - box.left, box.right - word.right, word.top - box.top, box.bottom - word.bottom];
    return Math.min(...gaps) < -4;
  }).map((e) => e.textContent);

  const parse = (text) => {
    const [r, g, b, a] = text.match(/[\d.]+/g).map(Number);
    return [r, g, b, a ?? 1];
  };
  const over = (top, low) => [0, 1, 2].map((i) => top[i] * top[3] + low[i] * (1 - top[3])).concat(1);
  const linear = (v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = (e) => {
    const layers = [];
    for (let p = e; p; p = p.parentElement) layers.unshift(parse(getComputedStyle(p).backgroundColor));
    return layers.reduce((low, top) => over(top, low), [255, 255, 255, 1]);
  };
  const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
  const least = (list) => list.reduce((a, b) => b[0] < a[0] ? b : a);

  /** The least contrast (WCAG) of a text and of a mark, and where it is. */
  const contrast = () => {
    const words = all("body *:not(script):not(.skip)").filter(hasText).map((e) => {
      const style = getComputedStyle(e), colour = e instanceof SVGElement ? style.fill : style.color;
      return [ratio(over(parse(colour), behind(e)), behind(e)), e.textContent.slice(0, 40)];
    });
    const marks = all(".curve, .bar, .node, .best").map((e) => {
      const style = getComputedStyle(e), colour = e.matches(".bar, .node") ? style.fill : style.stroke;
      return [ratio(parse(colour), behind(e)), e.outerHTML.slice(0, 60)];
    });
    return { text: least(words), mark: least(marks), count: words.length };
  };

  const shown = (selector) => all(selector).length;
  const cells = () => [...document.querySelectorAll(".confusion tbody tr")].map((row) =>
    [...row.querySelectorAll("td")].map((cell) => Number([...cell.children].find((s) => !s.hidden).textContent)));
  return { outside, clipped, contrast, shown, cells };
})();
