// Functions by name, and where the visible range calls them.
import { ask, latest } from "./api.js";
import { baked } from "./baked.js";
import { count, duration, element } from "./format.js";
import { shortName } from "./names.js";
import { hits, redraw } from "./draw.js";
import { pick } from "./pick.js";
import { change, listen, state } from "./state.js";

const panel = document.getElementById("found");
const input = document.getElementById("find");

// The thread that calls it first in the visible range.
function firstHit(told) {
  return [...told.hits].sort((a, b) => a.columns[0] - b.columns[0])[0];
}

// A long search is answered part by part, and what is known is marked meanwhile.
async function askAll(range, signal) {
  const question = { function: state.find, ...range }, found = new Map();
  let told = await ask("search", question, signal);
  const { functions, found: many } = told;
  Object.assign(hits, range);
  for (;;) {
    for (const { thread, first, columns } of told.hits) {
      const known = found.get(thread);
      found.set(thread, { thread, first: known?.first ?? first, columns: [...new Set([...known?.columns ?? [], ...columns])] });
      hits.threads.set(thread, found.get(thread).columns);
    }
    redraw();
    if (!told.left) return { functions, found: many, hits: [...found.values()] };
    panel.replaceChildren(element("p", { role: "status" }, `Looking for calls of '${state.find}' …`));
    told = await ask("search", { ...question, ...told.left }, signal);
  }
}

function number(many, what) {
  return `${count(many)} ${what}${many === 1 ? "" : "s"}`;
}

const find = latest(async (signal) => {
  const columns = Math.max(1, document.getElementById("canvas").clientWidth);
  const range = { from: Math.max(0, Math.floor(state.from)), to: Math.ceil(state.to), columns };
  hits.threads = new Map();
  redraw();
  if (!state.find) {
    panel.replaceChildren(element("p", {}, "Type a function's name above."));
    return;
  }
  if (!state.session?.counted) panel.replaceChildren(element("p", { role: "status" }, `The session is being read: calls of '${state.find}' are told then.`));
  const told = await askAll(range, signal);
  const first = firstHit(told), columnsHit = told.hits.reduce((sum, each) => sum + each.columns.length, 0);
  const rows = told.functions.map((each) => element("tr", {},
    element("td", {}, element("button", { className: "link", title: each.function, onclick: () => change({ find: `=${each.function}` }) }, shortName(each.function))),
    element("td", { className: "number" }, count(each.calls)), element("td", { className: "number" }, duration(each.total_ns)),
    element("td", { className: "number" }, duration(each.max_ns))));
  panel.replaceChildren(
    element("p", { role: "status" }, told.found ? `${number(told.found, "function")} in the whole ${baked ? "range of this file" : "session"}; ${number(columnsHit, "mark")} on the timeline in view; N and Shift and N lead on from there.` :
      `No function that was called has '${state.find}' in its name.`),
    element("button", { disabled: !first, onclick: () => pick(first.thread, first.first) }, "First call in view"),
    element("table", {}, element("thead", {}, element("tr", {}, ...["Function", "Calls", "Total", "Max"].map((title, i) => element("th", { scope: "col", className: i ? "number" : "" }, title)))),
      element("tbody", {}, ...rows)));
  panel.dataset.of = state.find;
}, (error) => panel.replaceChildren(element("p", { className: "wrong" }, error.message)));

let timer = 0;

listen((names) => {
  if (!(names.has("find") || (state.find && (names.has("from") || names.has("to"))))) return;
  if (names.has("find") && input.value !== state.find) input.value = state.find;
  clearTimeout(timer);
  timer = setTimeout(find, 200);
});

export function listenToSearch() {
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ find: input.value.trim(), tab: "found" });
  });
  input.addEventListener("input", () => change({ find: input.value.trim(), ...(input.value.trim() ? { tab: "found" } : {}) }));
}
