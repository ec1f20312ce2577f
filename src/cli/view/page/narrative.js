// What happened, in sentences: `ada narrate`. A citation leads to its event.
import { ask, latest } from "./api.js";
import { isOfSeveral, threadOf, threadText } from "./cite.js";
import { element } from "./format.js";
import { showWindow } from "./input.js";
import { pick } from "./pick.js";
import { listen, state } from "./state.js";

const CITED = 6;     // of a sentence
const HEADLINES = 8; // that lead

const panel = document.getElementById("narrative");
const FAILED = "failed";
let asked = null; // of what, and whether that was still being recorded

function citation(evidence) {
  const process = evidence.process && isOfSeveral() ? `${evidence.process} ` : "";
  if (evidence.thread === undefined) return element("span", { className: "quiet" }, ` [${process}${evidence.file}${evidence.field ? `: ${evidence.field}` : ""}]`);
  const thread = threadOf(evidence.process, evidence.thread);
  const text = `${threadText(evidence.process, evidence.thread)} #${evidence.first}${evidence.last > evidence.first ? `-${evidence.last}` : ""}`;
  return element("button", { className: "link", onclick: () => pick(thread, evidence.first, "fit") }, `[${text}]`);
}

function sentence(row) {
  const cited = row.evidence.slice(0, CITED).flatMap((each) => [" ", citation(each)]);
  const left = row.evidence.length - CITED;
  return element("p", { className: row.kind === "headline" ? "headline" : "" }, row.kind === "headline" ? element("strong", {}, row.text) : row.text,
    ...cited, left > 0 ? element("span", { className: "quiet" }, ` and ${left} more`) : null);
}

const fill = latest(async (signal) => {
  const of = state.of === "" ? "all" : `window ${state.of}`;
  panel.replaceChildren(element("p", { className: "quiet" }, "asking …"));
  const told = await ask("command", { run: "narrate", ...(state.of === "" ? {} : { window: Number(state.of) }) }, signal);
  const nodes = [];
  const headlines = told.rows.filter((row) => row.kind === "headline");
  let section = null;
  if (headlines.length) nodes.push(element("h2", {}, "In short"), ...headlines.slice(0, HEADLINES).map(sentence));
  for (const row of told.rows) {
    if (row.section !== section) {
      const window = row.window === null ? null : state.session.windows[row.window];
      nodes.push(element("h2", {}, row.section));
      if (window) nodes.push(element("button", { onclick: () => showWindow(window) }, "Show this window"));
      section = row.section;
    }
    nodes.push(sentence(row));
  }
  panel.replaceChildren(...nodes);
  panel.dataset.of = of;
}, (error) => {
  asked = FAILED;
  panel.replaceChildren(element("p", { className: "wrong" }, error.message));
});

// Again where the recording has ended meanwhile. What failed is asked again by who comes back to it.
listen((names) => {
  if (state.tab !== "narrative" || !state.session) return;
  const wanted = `${state.of} ${state.session.live ? "live" : "ended"}`, isBack = names.has("tab") || names.has("of");
  if (asked === wanted || (asked === FAILED && !isBack)) return;
  asked = wanted;
  fill();
});
