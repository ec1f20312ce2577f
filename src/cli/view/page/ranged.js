// A tab whose answer is of the visible range, or of a window: asked for when the tab is shown, and again when the view has been still for a moment.
import { latest } from "./api.js";
import { element } from "./format.js";
import { listen, state } from "./state.js";

export function ranged(tab, fill) {
  const panel = document.getElementById(tab);
  let timer = 0, shown = "";
  const run = latest(async (signal) => {
    if (state.session.range) {
      if (!shown) await fill(panel, {}, signal, "range that this file has");
      shown = panel.dataset.of = "file";
      return;
    }
    const window = state.of === "" ? null : Number(state.of), of = window === null ? `${Math.round(state.from)} ${Math.round(state.to)}` : `window ${window}`;
    if (of === shown) return;
    panel.setAttribute("aria-busy", "true");
    await fill(panel, window === null ? { from: Math.max(0, Math.floor(state.from)), to: Math.ceil(state.to) } : { window }, signal,
      window === null ? "visible range" : `window ${window}`);
    panel.removeAttribute("aria-busy");
    panel.dataset.of = of;
    shown = of;
  }, (error) => {
    panel.removeAttribute("aria-busy");
    panel.replaceChildren(element("p", { className: "wrong" }, error.message));
  });
  listen((names) => {
    if (state.tab !== tab || !state.session || !["from", "to", "tab", "of"].some((name) => names.has(name))) return;
    clearTimeout(timer);
    timer = setTimeout(run, names.has("tab") || names.has("of") ? 0 : 350);
  });
}
