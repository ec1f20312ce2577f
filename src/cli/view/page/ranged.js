// A tab whose answer is of the visible range: asked for when the tab is shown, and again when the view has been still for a moment.
import { latest } from "./api.js";
import { element } from "./format.js";
import { listen, state } from "./state.js";

export function ranged(tab, fill) {
  const panel = document.getElementById(tab);
  let timer = 0, shown = "";
  const run = latest(async (signal) => {
    const of = `${Math.round(state.from)} ${Math.round(state.to)}`;
    if (of === shown) return;
    panel.setAttribute("aria-busy", "true");
    await fill(panel, { from: Math.max(0, Math.floor(state.from)), to: Math.ceil(state.to) }, signal);
    panel.removeAttribute("aria-busy");
    panel.dataset.of = of;
    shown = of;
  }, (error) => {
    panel.removeAttribute("aria-busy");
    panel.replaceChildren(element("p", { className: "wrong" }, error.message));
  });
  listen((names) => {
    if (state.tab !== tab || !state.session || !(names.has("from") || names.has("to") || names.has("tab"))) return;
    clearTimeout(timer);
    timer = setTimeout(run, names.has("tab") ? 0 : 350);
  });
}
