// Plotly and our style sheets, each fetched once for the page.

const waiting = new Map();

/** Resolves to Plotly; rejects if its script cannot be had, and may then be tried again. */
export function loadPlotly(address) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  if (!waiting.has(address)) {
    const loading = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error(address)));
      script.onerror = () => {
        script.remove();
        waiting.delete(address);
        reject(new Error(address));
      };
      document.head.append(script);
    });
    waiting.set(address, loading);
  }
  return waiting.get(address);
}

/** Resolves when all these sheets are there, or cannot be had: nothing waits for one for ever.
 *  A component's file waits for its own before it is anything at all, so nothing of it can be drawn
 *  bare: `await loadStyles("plot.css");` at the file's top. */
export function loadStyles(...names) {
  return Promise.all(names.map((name) => {
    const address = new URL(name, import.meta.url).href;
    if (!waiting.has(address)) {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.href = address;
      waiting.set(address, new Promise((resolve) => {
        link.onload = resolve;
        link.onerror = resolve;
      }));
      document.head.append(link);
    }
    return waiting.get(address);
  }));
}
