// The call that is picked: how long it took against what is usual, why, its arguments and registers, and where to go from there.
import { ask, askLines, latest } from "./api.js";
import { dumpLine, threadText } from "./cite.js";
import { count, duration, element, time } from "./format.js";
import { shortName } from "./names.js";
import { redraw } from "./draw.js";
import { goTo } from "./hits.js";
import { pick } from "./pick.js";
import { change, listen, state } from "./state.js";
import { onWaits, waitOf, waitText } from "./waits.js";

const panel = document.getElementById("call");

function row(name, ...value) {
  return element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, ...value));
}

function link(thread, place, text) {
  return element("button", { className: "link", onclick: () => pick(thread, place.seq) }, text ?? shortName(place.function[0]));
}

function usualRows(call) {
  const usual = call.usual;
  if (!usual) return [];
  const rows = [row("calls of it", count(usual.calls))];
  if (usual.p50_ns !== undefined)
    rows.push(row("usual", `p50 ${duration(usual.p50_ns)}, p90 ${duration(usual.p90_ns)}, p99 ${duration(usual.p99_ns)}, ` +
      `longest ${duration(usual.max_ns)}`));
  if (usual.rank !== undefined) rows.push(row("this one", `longer than ${(usual.rank / 10).toFixed(1)} % of them`));
  return rows;
}

function waitNodes(call) {
  const wait = waitOf(call.thread, call.seq);
  if (!wait) return [];
  const by = wait.by < 0 ? null : state.session.threads[wait.by];
  return [element("p", {}, waitText(wait), by ? ", ended by " : "; who ended it is not known",
    by ? element("button", { className: "link", id: "ender", onclick: () => pick(wait.by, wait.ended_by_seq) },
      `${shortName(wait.ended_function ?? "an event")} of ${by.called}, tid ${by.tid}`) : null)];
}

function pathList(call) {
  return element("ol", { className: "path" }, ...call.path.map((step, depth) => {
    const item = element("li", {}, link(call.thread, step), " ",
      element("span", { className: "quiet" }, step.duration_ns === undefined ? "open" : duration(step.duration_ns)));
    item.style.paddingLeft = `${Math.min(depth, 30) * 10}px`;
    return item;
  }));
}

function argumentText(each) {
  const value = each.captured === false || each.text === undefined || each.text === null ? "(not captured)" : each.text;
  return `${each.name ?? "argument"} = ${value}`;
}

function isInWindow(call) {
  const process = state.session.threads[call.thread].process;
  return state.session.windows.some((window) => window.process === process && call.at >= window.from && call.at <= (window.to ?? state.session.end));
}

function detailNodes(event, call) {
  const detail = event.detail;
  if (!detail) return [element("p", { className: "quiet" }, state.session.range && isInWindow(call) ?
    "More calls have registers and stack than this file can hold, and it has not those of this one: ada view --export with --window, or a shorter --from and --to, has them." :
    "Outside every window: its registers and stack were not kept.")];
  const registers = Object.entries(detail).filter(([name, value]) => /^(r(di|si|dx|cx|8|9|ax|10|bp|sp)|return_address|xmm[0-7])$/.test(name) && value !== null);
  const nodes = [];
  if (Array.isArray(detail.args)) nodes.push(element("ul", {}, ...detail.args.map((each) => element("li", {}, element("code", {}, argumentText(each))))));
  if (Array.isArray(detail.captured))
    for (const each of detail.captured) nodes.push(element("p", {}, `argument ${each.argument} points at `, element("code", {}, each.text ?? each.bytes ?? "")));
  nodes.push(element("pre", {}, registers.map(([name, value]) => `${name.padEnd(14)} ${value}`).join("\n")));
  if (detail.stack) nodes.push(element("pre", {}, detail.stack.replace(/(.{16})/g, "$1 ").replace(/((?:\S+ ){4})/g, "$1\n")));
  return nodes;
}

function causeNodes(rows) {
  const cause = rows[0];
  if (!cause || !cause.kind) return [element("p", { className: "quiet" }, state.session.range ?
    "This file has the causes of calls that were marked. Of each other call ada view, of the recording, knows one." : "Nothing says why.")];
  const parts = [`${cause.kind}`];
  if (cause.function_waited) parts.push(`in ${cause.function_waited}`);
  if (cause.culprit_path) parts.push(`: ${cause.culprit_path}`);
  if (cause.culprit_thread !== null && cause.culprit_thread !== undefined) parts.push(`(thread ${cause.culprit_thread})`);
  if (typeof cause.share === "number") parts.push(`— ${(cause.share * 100).toFixed(1)} % of its time`);
  return [element("p", {}, parts.join(" "))];
}

const fill = latest(async (signal, picked) => {
  const call = picked.call ?? await ask("call", { thread: picked.thread, seq: picked.seq }, signal);
  const thread = state.session.threads[call.thread];
  Object.assign(picked, { at: call.at, duration_ns: call.duration_ns, depth: call.depth, call });
  redraw();
  const places = [["caller", "Caller"], ["callee", "First callee"], ["previous", "Previous call"], ["next", "Next call"]];
  const detail = element("div", {}, element("p", { className: "quiet" }, "asking …"));
  const waiting = element("div", { id: "waiting" }, ...waitNodes(call));
  const cause = element("div", {}, element("p", { className: "quiet" }, "asking …"));
  panel.replaceChildren(
    element("h2", {}, call.function[0]),
    element("p", { className: "quiet" }, call.function[1]),
    element("div", { className: "buttons" }, ...places.map(([name, title]) => element("button", {
      disabled: !call[name], onclick: () => goTo(name), title: call[name] ? (call[name].function ?? call.function)[0] : "none recorded",
    }, title)), element("button", { onclick: () => pick(call.thread, call.seq, "fit") }, "Zoom to it"),
    element("button", { onclick: () => change({ find: `=${call.function[0]}`, tab: "found" }) }, "Find all calls of it")),
    element("table", {},
      row("duration", call.duration_ns === undefined ? state.session.live ? "no end so far" : "its end was not recorded" : duration(call.duration_ns)),
      ...usualRows(call),
      row("begins", time(call.at)),
      row("thread", `${thread.called} (${threadText(thread.process, thread.number)}, tid ${thread.tid})`),
      row("index_seq", element("code", {}, `${call.seq}`)),
      row("cited as", element("code", {}, dumpLine(thread, call.seq)))),
    waiting,
    element("h3", {}, "Cause"), cause,
    element("h3", {}, "Arguments, registers, stack"), detail,
    element("h3", {}, "Path"), pathList(call));
  const asked = { thread: call.thread, seq: call.seq };
  const [lines, reasons] = await Promise.allSettled([askLines("command", { run: "detail", ...asked }, signal), ask("command", { run: "cause", ...asked }, signal)]);
  if (signal.aborted) return;
  const failed = (reason) => [element("p", { className: "wrong" }, reason.message)];
  const event = lines.status === "fulfilled" ? lines.value[0] : null;
  detail.replaceChildren(...(lines.status === "fulfilled" ? detailNodes(event ?? {}, call) : failed(lines.reason)));
  if (event?.file) detail.prepend(element("p", {}, element("code", {}, `${event.file}:${event.line}`)));
  cause.replaceChildren(...(reasons.status === "fulfilled" ? causeNodes(reasons.value.rows) : failed(reasons.reason)));
  panel.dataset.of = `${call.thread} ${call.seq}`;
}, (error) => panel.replaceChildren(element("p", { className: "wrong" }, error.message)));

onWaits(() => {
  if (state.picked?.call) document.getElementById("waiting")?.replaceChildren(...waitNodes(state.picked.call));
});
listen((names) => {
  if (names.has("picked") && state.picked) {
    delete panel.dataset.of;
    fill(state.picked);
  }
});
