// Starts the page: asks what the session holds, waits until it has been read, and ties the parts together.
import { ask } from "./api.js";
import { redraw, themeRead } from "./draw.js";
import { count, duration, element, time } from "./format.js";
import { listenToHits } from "./hits.js";
import { listenToInput, move, showWindow, zoom } from "./input.js";
import { listenToSearch } from "./search.js";
import { addressRead, along, change, jump, listen, nameThreads, show, showAll, state } from "./state.js";
import { stripsMake } from "./strips.js";
import { fetchNews, fetchSoon, layOut } from "./timeline.js";
import { waitsForget, waitsSoon } from "./waits.js";
import "./details.js";
import "./flame.js";
import "./report.js";
import "./narrative.js";

const TABS = ["call", "found", "flame", "report", "narrative"];
const byId = (id) => document.getElementById(id);

function themeSet(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("ada-theme", theme);
  } catch { /* a browser that keeps nothing forgets it */ }
  themeRead();
  if (state.session) stripsMake();
  redraw();
}

function themeFirst() {
  let kept = null;
  try {
    kept = localStorage.getItem("ada-theme");
  } catch { /* as above */ }
  themeSet(kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
}

function tabsShow() {
  for (const tab of TABS) {
    byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === state.tab));
    byId(tab).hidden = tab !== state.tab;
  }
  byId("scope").hidden = state.tab === "call" || state.tab === "found" || Boolean(state.session?.range);
}

// Arrow keys, Home and End go from tab to tab.
function tabsMove(event) {
  const now = TABS.indexOf(state.tab), to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: TABS.length - 1 }[event.key];
  if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  change({ tab: TABS.at(to % TABS.length) });
  byId(`tab-${state.tab}`).focus();
}

// What marked it, on which thread, and how long it is.
function windowText(window, number, session) {
  const mark = window.marks.find((each) => each.rule || each.thread !== undefined) ?? {}, thread = session.threads[mark.thread];
  return [`${number}: ${mark.rule || window.kinds}`, thread?.called, duration((window.to ?? session.end) - window.from)].filter(Boolean).join(", ");
}

function sessionTell(session) {
  const losses = byId("losses"), select = byId("windows"), of = byId("of");
  const chosen = [select.value, of.value];
  byId("title").textContent = session.path.split("/").pop();
  byId("title").title = session.path;
  document.title = `${session.path.split("/").pop()} - ada view`;
  const lost = session.lost - session.overwritten;
  losses.textContent = lost ? `${count(lost)} events were lost: red in the timeline` :
    `${count(session.events)} events, ${session.overwritten ? `${count(session.overwritten)} older ones overwritten` : session.complete ? "nothing lost" : session.live ? "as recorded so far" : session.aged ? `${count(session.aged)} have gone` : "not complete"}`;
  if (session.range) losses.textContent = `${time(session.range.from)} to ${time(session.range.to)} of ${losses.textContent}`;
  losses.className = lost ? "lost" : "";
  select.replaceChildren(element("option", { value: "" }, "whole session"), ...session.windows.map((window, i) =>
    element("option", { value: String(i) }, windowText(window, i, session))));
  of.replaceChildren(element("option", { value: "" }, "visible range"), ...session.windows.map((window, i) => element("option", { value: String(i) }, `window ${i}: ${window.kinds}`)));
  [select.value, of.value] = chosen;
}

// Threads have other numbers where new ones came between them.
function pickedAgain(before, session) {
  const old = state.picked && before?.threads[state.picked.thread];
  if (!old) return;
  state.picked.thread = session.threads.findIndex((each) => each.process === old.process && each.number === old.number);
}

// Takes the session as it is now. What is shown stays, but for an end of the view that was at the end of the session: that goes along.
function sessionTake(session) {
  const before = state.session;
  pickedAgain(before, session);
  nameThreads(session.threads);
  change({ session });
  byId("reading").hidden = session.state === "ready";
  byId("progress").value = session.events ? session.read / session.events : 0;
  byId("read").textContent = session.state === "failed" ? session.error : `${count(session.read)} of ${count(session.events)} events`;
  if (!before || session.state !== before.state || session.events !== before.events || session.live !== before.live || session.windows.length !== before.windows.length)
    sessionTell(session);
  if (!before) return;
  const isNew = session.read !== before.read || session.end !== before.end || session.state !== before.state;
  if (isNew) {
    layOut();
    fetchNews();
  }
  if (session.live && session.end > before.end && state.to >= before.end) {
    const by = session.end - before.end;
    along();
    if (state.from <= 0) showAll();
    else show(state.from + by, state.to + by);
  }
  if (isNew && (session.live || before.live)) waitsForget();
  document.body.dataset.read = String(session.read);
}

// Asks how the session is for as long as it changes.
async function sessionFollow() {
  while (state.session.state !== "failed" && (state.session.state === "reading" || state.session.live)) {
    await new Promise((resolve) => { setTimeout(resolve, state.session.state === "reading" ? 150 : 500); });
    sessionTake(await ask("session"));
  }
}

function listenToControls() {
  byId("in").addEventListener("click", () => zoom(0.5));
  byId("out").addEventListener("click", () => zoom(2));
  byId("left").addEventListener("click", () => move(-0.3));
  byId("right").addEventListener("click", () => move(0.3));
  byId("whole").addEventListener("click", () => {
    jump();
    showAll();
  });
  byId("theme").addEventListener("click", () => themeSet(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("windows").addEventListener("change", (event) => {
    jump();
    const chosen = event.target.value;
    if (chosen === "") showAll();
    else showWindow(state.session.windows[Number(chosen)]);
    change({ of: chosen, ...(chosen === "" || state.tab === "report" || state.tab === "narrative" ? {} : { tab: "flame" }) });
  });
  byId("of").addEventListener("change", (event) => change({ of: event.target.value }));
  for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => change({ tab }));
  document.querySelector("[role=tablist]").addEventListener("keydown", tabsMove);
}

async function main() {
  themeFirst();
  tabsShow();
  listen((names) => {
    if (names.has("tab")) tabsShow();
    if (names.has("of")) byId("of").value = state.of;
  });
  listenToControls();
  sessionTake(await ask("session"));
  layOut();
  document.body.dataset.painted = String(Math.round(performance.now()));
  if (state.session.state === "failed") return;
  stripsMake();
  listenToInput();
  listenToSearch();
  listenToHits();
  addressRead();
  window.addEventListener("hashchange", addressRead);
  if (TABS.includes(state.tab)) tabsShow();
  fetchSoon();
  waitsSoon();
  document.body.dataset.ready = "yes";
  await sessionFollow();
}

main().catch((error) => {
  byId("status").textContent = error.message;
});
