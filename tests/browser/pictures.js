// Every picture of the page as a sheet of one form, and what is wrong with each.
async ([form, known]) => {
  const load = (name) => import(performance.getEntriesByType("resource").map((entry) => entry.name)
  .find((address) => address.endsWith("/" + name)));
  const { sheetOf } = await load("sheet.js");
  const wrong = [];
  const seen = [];
  const colourOf = async (image) => {
    const bitmap = new Image();
    bitmap.src = image.getAttribute("href") ?? image.getAttribute("xlink:href");
    await bitmap.decode();
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: bitmap.width, height: bitmap.height });
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(bitmap, 0, 0);
    const box = Object.fromEntries(["x", "y", "width", "height"].map((name) => [name, Number(image.getAttribute(name))]));
    return (left, top) => [...pen.getImageData(
      Math.floor((left - box.x) / box.width * bitmap.width), Math.floor((top - box.y) / box.height * bitmap.height), 1, 1).data];
  };
  for (const { view } of document.querySelectorAll(".th-plot")) {
    const name = view?.root.dataset.figure;
    if (!view || name === "map" || known.includes(name) || (view.canvas && !view.built && !view.isWaiting)) continue;
    seen.push(name);
    const say = (what) => wrong.push(`${name}: ${what}`);
    let drawn;
    const drawing = view.drawing;
    view.drawing = async (room) => (drawn = await drawing.call(view, room));
    const { sheet, width, height, about } = await sheetOf(view, form, {});
    delete view.drawing;
    const holder = document.createElement("div");
    holder.style.cssText = "position:absolute;left:0;top:0;width:max-content";
    holder.append(sheet);
    document.body.append(holder);
    const frame = sheet.getBoundingClientRect();
    const boxes = [...sheet.querySelectorAll("text")].filter((text) => text.textContent.trim() && !text.closest("[display=none]"))
      .map((text) => ({ text, box: text.getBoundingClientRect(), isOwn: text.parentNode === sheet || text.parentNode.parentNode === sheet && text.parentNode.localName === "a" }));
    for (const { text, box } of boxes) {
      const out = Math.max(frame.left - box.left, frame.top - box.top, box.right - frame.right, box.bottom - frame.bottom);
      if (box.width && out > 0.5) say(`"${text.textContent}" lies ${out.toFixed(1)} outside`);
    }
    const [own, others] = [boxes.filter(({ isOwn }) => isOwn), boxes.filter(({ isOwn }) => !isOwn)];
    for (const { text, box } of others) {
      for (const { text: head, box: around } of own) {
        const over = Math.min(box.right, around.right) - Math.max(box.left, around.left);
        const down = Math.min(box.bottom, around.bottom) - Math.max(box.top, around.top);
        if (over > 1 && down > 1) say(`"${text.textContent}" lies on "${head.textContent}"`);
      }
    }
    // What is said round it.
    const lines = own.map(({ text }) => text.textContent);
    if (!about.title || !lines[0]?.startsWith(about.title.slice(0, 12))) say("no title");
    if (!about.sentence || !lines[1]?.startsWith(about.sentence.slice(0, 6))) say("no sentence");
    if (sheet.querySelector("a")?.getAttribute("href") !== location.href.split("#")[0]) say("no link");
    if (sheet.querySelector("title").textContent !== about.title.replace(/\s+/g, " ")) say("no title in the file");
    if (sheet.querySelector("desc").textContent !== view.header.alt.replace(/\s+/g, " ")) say("no alt text in the file");
    // What the page says, said in the file.
    const texts = new Set([...sheet.querySelectorAll("text")].map((text) => text.textContent));
    const titles = ".g-xtitle text, .g-ytitle text, .g-y2title text, .legendtext, [class*=cbtitle] text";
    for (const text of view.root.querySelectorAll(titles)) {
      if (!texts.has(text.textContent)) say(`"${text.textContent}" is missing`);
    }
    for (const axis of ["x", "y", "y2"]) {
      const ticks = [...sheet.querySelectorAll(`.${axis}tick text`)].filter((text) => text.textContent.trim());
      const title = sheet.querySelector(`.g-${axis}title text`);
      if (ticks.length && !title?.textContent.trim()) say(`no words on the axis ${axis}`);
    }
    // The same marks: canvases and lines as they are, points as many, cells in the same colours.
    const count = (root, selector) => root.querySelectorAll(selector).length;
    for (const selector of [".point path", ".scatterlayer .js-line", ".barlayer .point"]) {
      if (view.canvas && count(view.canvas, selector) !== count(sheet, selector)) say(`other marks: ${selector}`);
    }
    const hrefs = [...sheet.querySelectorAll("image")].map((image) => image.getAttribute("href"));
    for (const canvas of view.canvas ? [] : view.root.querySelectorAll("canvas")) {
      if (!hrefs.includes(canvas.toDataURL())) say("a block is missing");
    }
    if (view.stage) {
      const paths = (root) => [...root.querySelectorAll("path")].map((path) => path.getAttribute("d")).join();
      if (paths(view.svg) !== paths(sheet)) say("other lines");
    }
    if (view.matrices.length && view.canvas?.offsetWidth) {
      const layout = view.canvas._fullLayout;
      const axis = (id) => layout[id.replace(/^([xy])/, "$1axis")];
      const here = await colourOf(view.canvas.querySelector(".heatmaplayer image"));
      const there = await colourOf(drawn.svg.querySelector(".heatmaplayer image"));
      for (const [index, matrix] of view.matrices.entries()) {
        const copy = drawn.matrices[index];
        const place = drawn.places[copy.xaxis + copy.yaxis];
        const at = (value, length, [first, last]) => ((value - first) / (last - first)) * length;
        for (const [row, column] of [[0, 0], [matrix.height - 1, 0], [matrix.height - 1, matrix.breadth - 1], [matrix.height >> 1, matrix.breadth >> 1]]) {
          if (matrix.xaxis !== "x" || matrix.yaxis !== "y") continue;
          const [x, y] = [axis(matrix.xaxis), axis(matrix.yaxis)];
          const shown = here(x.l2p(matrix.x(matrix.left + column)), y.l2p(matrix.y(matrix.top + row)));
          const saved = there(at(copy.x(copy.left + column), place.width, place.x), at(copy.y(copy.top + row), place.height, place.y));
          if (shown.some((part, channel) => Math.abs(part - saved[channel]) > 3)) say(`cell ${index} ${row} ${column}: ${shown} is ${saved}`);
        }
      }
    }
    holder.remove();
  }
  return [seen, wrong];
}
