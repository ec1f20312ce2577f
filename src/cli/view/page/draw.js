// Paints the timeline. One frame is drawn at a time, from what is there: answers of the server never hold it up.
import { colour, duration, time } from "./format.js";
import { shortName } from "./names.js";
import { drawAged, drawLosses, drawSched, drawUnread } from "./lanes.js";
import { listen, state } from "./state.js";
import { answer, GUTTER, HEAD, layout, onPicture, pictures, ROW } from "./timeline.js";
import { drawWaits, onWaits } from "./waits.js";

const canvas = document.getElementById("canvas");
const scroll = document.getElementById("scroll");
const ruler = document.getElementById("ruler");
export const hits = { threads: new Map(), from: 0, to: 1, columns: 1 }; // of the search: thread -> columns
let theme = {};
let asked = false;
let letter = 7; // pixels of one in a name

export function themeRead() {
  const style = getComputedStyle(document.documentElement);
  theme = { dark: document.documentElement.dataset.theme === "dark" };
  for (const name of ["back", "front", "quiet", "line", "panel", "accent", "loss", "band", "flag", "slice-text", "on", "off", "ready", "wait"])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
}

export function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
}

export const xOf = (ns) => (ns - state.from) / (state.to - state.from) * canvas.clientWidth;
export const timeOf = (x) => state.from + x / canvas.clientWidth * (state.to - state.from);

function stepOf(span, width) {
  const least = span / (width / 110), power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least);
}

function drawRuler(width) {
  const step = Math.max(1, stepOf(state.to - state.from, width));
  const marks = [];
  for (let at = Math.ceil(state.from / step) * step; at < state.to; at += step) {
    const mark = document.createElement("span");
    mark.textContent = time(at, step);
    mark.style.left = `${GUTTER + xOf(at)}px`;
    marks.push(mark);
  }
  ruler.replaceChildren(...marks);
}

// Windows lie under the calls, whose colours stay; their edges over them.
function drawBands(paint, lane, top, width, part) {
  const process = state.session.threads[lane.index].process;
  paint.fillStyle = part === "edges" ? theme.flag : theme.band;
  for (const window of state.session.windows) {
    if (window.process !== process) continue;
    const from = xOf(window.from), to = xOf(window.to ?? state.session.end);
    if (to < 0 || from > width) continue;
    if (part !== "edges") paint.fillRect(from, top, Math.max(to - from, 1), lane.height);
    else for (const x of [from, to]) paint.fillRect(Math.round(x) - 0.5, top, 1, lane.height);
  }
}

// The mark whose flag is at a point; undefined: there is none.
export function markAt(lane, x, y) {
  if (y > HEAD) return undefined;
  return state.session.windows.filter((window) => window.process === state.session.threads[lane.index].process).flatMap((window) => window.marks)
    .find((mark) => (mark.thread === undefined || mark.thread === lane.index) && x >= xOf(mark.at) - 2 && x <= xOf(mark.at) + 9);
}

export const markText = (mark) => `marked at ${time(mark.at)} by ${mark.rule || mark.kind}${mark.label ? `: ${mark.label}` : ""}`;

function drawFlags(paint, lane, top, width) {
  const process = state.session.threads[lane.index].process;
  paint.fillStyle = theme.flag;
  for (const window of state.session.windows) {
    if (window.process !== process) continue;
    let last = -10;
    for (const mark of window.marks) {
      const x = xOf(mark.at);
      if ((mark.thread !== undefined && mark.thread !== lane.index) || x < 0 || x > width || x - last < 2) continue;
      paint.fillRect(x, top + 2, 1.5, HEAD - 2);
      paint.beginPath();
      paint.moveTo(x, top + 2);
      paint.lineTo(x + 9, top + 6);
      paint.lineTo(x, top + 10);
      paint.fill();
      last = x;
    }
  }
}

// Adds to the labels what is to be written on slices: their names are painted last, over arrows.
function drawSlices(paint, lane, top, width, height, labels) {
  const picture = pictures.get(lane.index);
  const scale = width / (state.to - state.from);
  if (!picture) return;
  const { slices, order, coarse = 1 } = picture, least = coarse * (answer.to - answer.from) / answer.columns * scale;
  let named = -1;
  for (let i = 0; i < order.length; i++) {
    const at = order[i] * 8, depth = slices[at];
    if (depth >= lane.rows) continue;
    const y = top + HEAD + depth * ROW;
    if (y > height || y + ROW < 0) continue;
    let x = (slices[at + 2] - state.from) * scale;
    const end = Math.min(x + slices[at + 3] * scale, width);
    if (x > width || (end < 0 && x < -1)) continue;
    x = Math.max(x, -1);
    if (slices[at + 4] !== named) {
      named = slices[at + 4];
      paint.fillStyle = colour(answer.functions[named][0], theme.dark);
    }
    const wide = end - x;
    paint.fillRect(x, y, wide > 3 ? wide - 0.5 : Math.max(wide, 1, coarse > 1 ? least : 1), ROW - 1);
    if (wide <= 34) continue;
    const left = Math.max(x, 0), room = Math.floor((Math.min(end, width) - left - 6) / letter);
    if (room >= 3) labels.push({ name: answer.functions[named][0], room, x: left + 3, y: y + 12.5 });
  }
}

// Each on its slice's own colour, whatever lies over that slice.
function drawLabels(paint, labels) {
  for (const { name, room, x, y } of labels) {
    const short = shortName(name), text = short.length > room ? `${short.slice(0, room - 1)}…` : short;
    paint.fillStyle = colour(name, theme.dark);
    paint.fillRect(x - 1, y - 11, text.length * letter + 2, 14);
    paint.fillStyle = theme["slice-text"];
    paint.fillText(text, x, y);
  }
}

function drawHits(paint, lane, top, width) {
  const columns = hits.threads.get(lane.index);
  if (!columns) return;
  paint.fillStyle = theme.accent;
  for (const column of columns) {
    const x = xOf(hits.from + (column + 0.5) / hits.columns * (hits.to - hits.from));
    if (x >= 0 && x <= width) paint.fillRect(x - 1, top + HEAD - 7, 2, 6);
  }
}

function drawPicked(paint, lane, top, width) {
  if (state.picked?.thread !== lane.index || state.picked.at === undefined) return;
  const from = Math.max(xOf(state.picked.at), -2), to = Math.min(xOf(state.picked.at + (state.picked.duration_ns ?? 0)), width + 2);
  paint.strokeStyle = theme.front;
  paint.lineWidth = 2;
  paint.strokeRect(from, top + HEAD + state.picked.depth * ROW, Math.max(to - from, 3), ROW - 1);
}

let frames = 0;

function draw() {
  const width = canvas.clientWidth, height = scroll.clientHeight, ratio = devicePixelRatio || 1;
  if (!state.session || !width) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const paint = canvas.getContext("2d");
  paint.setTransform(ratio, 0, 0, ratio, 0, 0);
  paint.fillStyle = theme.back;
  paint.fillRect(0, 0, width, height);
  paint.font = "11px ui-monospace, monospace";
  letter = paint.measureText("m").width;
  const labels = [];
  for (const lane of layout.threads) {
    const top = lane.top - scroll.scrollTop;
    if (top > height || top + lane.height < 0) continue;
    paint.fillStyle = theme.line;
    paint.fillRect(0, top, width, 1);
    drawBands(paint, lane, top, width, "bands");
    drawUnread(paint, theme, lane, top, width);
    drawSlices(paint, lane, top, width, height, labels);
    drawSched(paint, theme, lane, top, width);
    drawBands(paint, lane, top, width, "edges");
    drawLosses(paint, theme, lane, top, width);
    drawAged(paint, theme, lane, top, width);
    drawFlags(paint, lane, top, width);
    drawHits(paint, lane, top, width);
    drawPicked(paint, lane, top, width);
  }
  drawWaits(paint, theme, scroll.scrollTop, width, height);
  drawLabels(paint, labels);
  drawRuler(width);
  document.body.dataset.frames = String(++frames);
}

export function describe(slice) {
  const [name, module] = answer.functions[slice[4]];
  const others = slice[5] > 1 ? `, the longest of ${slice[5]} calls under this pixel` : "";
  return `${name}  [${module}]  ${duration(slice[3])} from ${time(slice[2])}${others}`;
}

onPicture(redraw);
onWaits(redraw);
listen(redraw);
scroll.addEventListener("scroll", redraw);
