// Two lines over the timeline, from the same answer: how many calls begin, and how long the longest of them takes.
import { duration } from "./format.js";
import { listen, state } from "./state.js";
import { answer, GUTTER, onPicture, pictures } from "./timeline.js";

const LABEL = 16; // pixels of an axis's title
const THOUSANDS = [1, 1e3, 1e6, 1e9, 1e12, 1e15];
const CANVAS = document.getElementById("canvas");
const charts = [];

// As wide as the timeline, beside which there may be a bar to scroll by.
const size = () => ({ width: GUTTER + CANVAS.clientWidth, height: 54 });

// "4.3 M": what an axis has room for.
function brief(number) {
  const [unit, times] = [[" G", 1e9], [" M", 1e6], [" k", 1e3]].find(([, each]) => number >= each) ?? ["", 1];
  return `${Number((number / times).toPrecision(3))}${unit}`;
}

function chart(id, title, scale, axis, series) {
  const place = document.getElementById(id);
  const style = getComputedStyle(document.documentElement);
  const made = new window.uPlot({
    ...size(), padding: [6, 0, 4, 0],
    legend: { show: false }, cursor: { show: false }, select: { show: false },
    scales: { x: { time: false }, y: scale },
    axes: [{ show: false }, {
      size: GUTTER - LABEL, gap: 4, label: title, labelSize: LABEL, labelFont: "11px sans-serif", font: "10px sans-serif", space: 24,
      stroke: style.getPropertyValue("--quiet"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false }, ...axis,
    }],
    series: [{}, { ...series, stroke: style.getPropertyValue(series.stroke) }],
  }, [[0, 1], [0, 0]], place);
  charts.push(made);
  return made;
}

function sums() {
  const calls = new Float64Array(answer.columns), longest = new Float64Array(answer.columns);
  for (const { slices, unread } of pictures.values()) {
    for (let at = 0; at < slices.length; at += 8) {
      const column = slices[at + 1];
      calls[column] += slices[at + 5];
      if (slices[at + 5]) longest[column] = Math.max(longest[column], slices[at + 3]);
    }
    // Of what isn't read yet the index says how many events there are: half of them begin a call.
    for (let column = 0; unread && column < answer.columns; column++) calls[column] += unread.events[Math.floor(column / unread.columns)] / 2 / unread.columns;
  }
  return { calls, longest };
}

let density, latency;

function fill() {
  if (!density) return;
  const { calls, longest } = sums(), width = (answer.to - answer.from) / answer.columns;
  const xs = Array.from(calls, (_, column) => answer.from + (column + 0.5) * width);
  density.setData([xs, Array.from(calls, (number) => number * 1e9 / width)], false);
  latency.setData([xs, Array.from(longest, (ns) => (ns ? Math.max(ns, 1) : null))], false);
  follow();
}

function follow() {
  for (const made of charts) {
    made.batch(() => {
      made.setScale("x", { min: state.from, max: state.to });
    });
  }
}

export function stripsMake() {
  for (const made of charts.splice(0)) made.destroy();
  density = chart("density", "calls/s", { range: (_, low, high) => [0, Math.max(high || 0, 1)] },
    { values: (_, ticks) => ticks.map(brief) }, { stroke: "--accent", width: 1.2, points: { show: false } });
  latency = chart("latency", "longest", { distr: 3, range: (_, low, high) => [Math.max(1, (low || 1) / 2), Math.max(10, (high || 10) * 2)] },
    { splits: (_, axis, low, high) => THOUSANDS.filter((value) => value >= low && value <= high), values: (_, ticks) => ticks.map((value) => (value ? duration(value) : "")) },
    { stroke: "--loss", paths: () => null, points: { show: true, size: 3 } });
  fill();
}

onPicture(fill);
listen((names) => {
  if (density && (names.has("from") || names.has("to"))) follow();
});
new ResizeObserver(() => {
  for (const made of charts) made.setSize(size());
}).observe(CANVAS);
