// The report of the visible range or a window: `ada report`.
import { ask } from "./api.js";
import { count, duration, element } from "./format.js";
import { shortName } from "./names.js";
import { ranged } from "./ranged.js";
import { change } from "./state.js";

const COLUMNS = [["function", "Function"], ["calls", "Calls"], ["total_ns", "Total"], ["self_ns", "Self"], ["p50_ns", "p50"], ["p99_ns", "p99"], ["max_ns", "Max"]];
const SHOWN = 500;
let sortedBy = "total_ns";

function cell(row, name) {
  if (name === "function")
    return element("td", {}, element("button", { className: "link", title: `${row.function} [${row.module}]: find it`, onclick: () => change({ find: `=${row.function}`, tab: "found" }) },
      shortName(row.function)));
  const value = row[name];
  return element("td", { className: "number" }, value === null ? "-" : name === "calls" ? count(value) : duration(value));
}

function table(rows, again) {
  const sorted = [...rows].sort((a, b) => (sortedBy === "function" ? a.function.localeCompare(b.function) : (b[sortedBy] ?? -1) - (a[sortedBy] ?? -1)));
  const heads = COLUMNS.map(([name, title]) => element("th", { scope: "col", className: name === "function" ? "" : "number", "aria-sort": name === sortedBy ? "descending" : "none" },
    element("button", { onclick: () => { sortedBy = name; again(); } }, title)));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...sorted.slice(0, SHOWN).map((row) => element("tr", {}, ...COLUMNS.map(([name]) => cell(row, name))))));
}

ranged("report", async (panel, range, signal, words) => {
  const told = await ask("command", { run: "report", ...range }, signal);
  const put = () => panel.replaceChildren(
    element("p", { className: "quiet" }, `Calls that begin in the ${words}: ${count(told.rows.length)} functions${told.rows.length > SHOWN ? `, ${SHOWN} shown` : ""}` +
      `${told.completeness.lost ? `; ${count(told.completeness.lost)} events were lost` : ""}.`),
    table(told.rows, put));
  put();
});
