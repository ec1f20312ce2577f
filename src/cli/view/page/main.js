// Starts the page: asks what the session holds, waits until it has been read, and ties the parts together.
import { ask } from "./api.js";
import { redraw, themeRead } from "./draw.js";
import { count, duration, element } from "./format.js";
import { listenToInput, move, showWindow, zoom } from "./input.js";
import { listenToSearch } from "./search.js";
import { addressRead, change, listen, showAll, state } from "./state.js";
import { stripsMake } from "./strips.js";
import { fetchSoon, layOut } from "./timeline.js";
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
}

function sessionTell(session) {
  const losses = byId("losses"), select = byId("windows");
  const live = session.processes.some((process) => !process.finalized);
  byId("title").textContent = session.path.split("/").pop();
  byId("title").title = session.path;
  document.title = `${session.path.split("/").pop()} - ada view`;
  losses.textContent = session.lost ? `${count(session.lost)} events were lost: red in the timeline` :
    `${count(session.events)} events, ${session.complete ? "nothing lost" : live ? "as recorded so far" : "not complete"}`;
  losses.className = session.lost ? "lost" : "";
  select.replaceChildren(element("option", { value: "" }, "whole session"), ...session.windows.map((window, i) =>
    element("option", { value: String(i) }, `${i}: ${window.kinds} (${duration((window.to ?? session.end) - window.from)})`)));
}

async function sessionWait() {
  for (;;) {
    const session = await ask("session");
    state.session = session;
    byId("reading").hidden = session.state === "ready";
    byId("progress").value = session.events ? session.read / session.events : 0;
    byId("read").textContent = session.state === "failed" ? session.error : `${count(session.read)} of ${count(session.events)} events`;
    sessionTell(session);
    if (!document.body.dataset.painted) {
      layOut();
      document.body.dataset.painted = String(Math.round(performance.now()));
    }
    if (session.state !== "reading") return session.state === "ready";
    await new Promise((resolve) => { setTimeout(resolve, 150); });
  }
}

function listenToControls() {
  byId("in").addEventListener("click", () => zoom(0.5));
  byId("out").addEventListener("click", () => zoom(2));
  byId("left").addEventListener("click", () => move(-0.3));
  byId("right").addEventListener("click", () => move(0.3));
  byId("whole").addEventListener("click", showAll);
  byId("theme").addEventListener("click", () => themeSet(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("windows").addEventListener("change", (event) => {
    if (event.target.value === "") showAll();
    else showWindow(state.session.windows[Number(event.target.value)]);
  });
  for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => change({ tab }));
}

async function main() {
  themeFirst();
  tabsShow();
  listen((names) => {
    if (names.has("tab")) tabsShow();
  });
  listenToControls();
  if (!await sessionWait()) return;
  layOut();
  stripsMake();
  listenToInput();
  listenToSearch();
  addressRead();
  window.addEventListener("hashchange", addressRead);
  if (TABS.includes(state.tab)) tabsShow();
  fetchSoon();
  document.body.dataset.ready = "yes";
}

main().catch((error) => {
  byId("status").textContent = `The server does not answer: ${error.message}`;
});
