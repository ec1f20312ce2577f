// What a thread's lane has besides its calls: when it had a CPU, losses, what has gone to totals, what isn't read yet.
import { count, duration } from "./format.js";
import { state } from "./state.js";
import { answer, HEAD, pictures, ROW, STRIP } from "./timeline.js";

const [WAITS, READY, UNKNOWN, MANY] = [0, 1, 2, 3]; // as the server numbers them
const SKETCH = 26; // pixels of the highest bar of what isn't read

const scaleOf = (width) => (ns) => (ns - state.from) / (state.to - state.from) * width;

// A stretch of the lane that is in view, in pixels; null: it isn't.
function clip(xOf, width, from, to, least = 1) {
  const x = Math.max(xOf(from), -1), end = Math.min(Math.max(xOf(to), xOf(from) + least), width + 1);
  return end > 0 && x < width ? [x, end] : null;
}

const stripTop = (lane, top) => top + HEAD + lane.rows * ROW + 1;

export function drawSched(paint, theme, lane, top, width) {
  const sched = pictures.get(lane.index)?.sched, xOf = scaleOf(width), y = stripTop(lane, top);
  const known = sched && clip(xOf, width, sched.from, sched.to);
  if (!known) return;
  paint.fillStyle = theme.on;
  paint.fillRect(known[0], y, known[1] - known[0], STRIP - 3);
  for (let at = 0; at < sched.off.length; at += 4) {
    const [from, to, what, number] = sched.off.slice(at, at + 4), part = clip(xOf, width, from, to);
    if (!part) continue;
    const high = what === MANY ? Math.ceil((STRIP - 3) * number / Math.max(to - from, 1)) : STRIP - 3;
    paint.fillStyle = theme.back;
    paint.fillRect(part[0], y, part[1] - part[0], high);
    paint.fillStyle = what === READY ? theme.ready : what === UNKNOWN ? theme.loss : theme.off;
    if (what === UNKNOWN) for (let x = part[0]; x < part[1]; x += 6) paint.fillRect(x, y, 2, STRIP - 3);
    else if (what === READY) paint.fillRect(part[0], y, part[1] - part[0], STRIP - 3);
    else paint.fillRect(part[0], y, part[1] - part[0], Math.min(high, 2));
  }
}

export function drawLosses(paint, theme, lane, top, width) {
  const losses = pictures.get(lane.index)?.losses ?? [], xOf = scaleOf(width);
  paint.fillStyle = theme.loss;
  for (let i = 0; i < losses.length; i += 3) {
    const part = clip(xOf, width, losses[i], losses[i + 1], 2);
    for (let x = part ? part[0] : 1; part && x < part[1]; x += 4) paint.fillRect(x, top, 2, lane.height);
  }
}

function hatch(paint, part, top, height) {
  paint.save();
  paint.beginPath();
  paint.rect(part[0], top, part[1] - part[0], height);
  paint.clip();
  paint.beginPath();
  for (let x = Math.floor(part[0] / 8) * 8 - height; x < part[1]; x += 8) {
    paint.moveTo(x, top + height);
    paint.lineTo(x + height, top);
  }
  paint.stroke();
  paint.restore();
}

function say(paint, theme, part, y, text) {
  const wide = paint.measureText(text).width + 8;
  if (part[1] - part[0] < wide + 8) return;
  paint.fillStyle = theme.back;
  paint.fillRect(part[0] + 4, y, wide, 15);
  paint.fillStyle = theme.quiet;
  paint.fillText(text, part[0] + 8, y + 11);
}

// What has gone: calls and ends that only the totals by function know of, or that newer ones replaced in a circular buffer.
export function drawAged(paint, theme, lane, top, width) {
  const aged = pictures.get(lane.index)?.aged;
  const part = aged && clip(scaleOf(width), width, aged[0], aged[1], 2);
  if (!part) return;
  paint.strokeStyle = theme.quiet;
  paint.lineWidth = 1;
  hatch(paint, part, top + 1, lane.height - 1);
  say(paint, theme, part, top + 3, aged[3] ? `${count(aged[2])} older events were overwritten, as asked` : `${count(aged[2])} events have gone: their sums by function stay`);
}

// What isn't read yet: how many events there are, as the index has it by time; dots over what was read ahead, which isn't summarised yet.
export function drawUnread(paint, theme, lane, top, width) {
  const unread = pictures.get(lane.index)?.unread;
  const part = unread && clip(scaleOf(width), width, unread.from, answer.to, 2);
  if (!part) return;
  const xOf = scaleOf(width), most = Math.max(...unread.events, 1), wide = (answer.to - answer.from) / answer.columns * unread.columns;
  paint.fillStyle = theme.line;
  unread.events.forEach((events, at) => {
    const x = xOf(answer.from + at * wide), high = events / most * SKETCH;
    if (events && x < width) paint.fillRect(x, top + HEAD + SKETCH - high, Math.max(xOf(answer.from + (at + 1) * wide) - x, 1), high);
  });
  paint.fillStyle = theme.quiet;
  for (let i = 0; i < unread.ahead.length; i += 2) {
    const ahead = clip(xOf, width, unread.ahead[i], unread.ahead[i + 1], 2);
    for (let x = ahead ? Math.ceil(ahead[0] / 4) * 4 : 1; ahead && x < ahead[1]; x += 4) paint.fillRect(x, top + HEAD - 3, 2, 2);
  }
  say(paint, theme, part, top + 3, unread.events.some(Boolean) ? "being read: so many events" : "read ahead: calls that began long before may be missing");
}

// The words for a point of the strip under a thread's calls; null: it isn't there, or nothing is known.
export function describeSched(lane, y, ns, slack) {
  const sched = pictures.get(lane.index)?.sched;
  if (!sched || y < stripTop(lane, lane.top) - 1 || y > stripTop(lane, lane.top) + STRIP || ns < sched.from || ns > sched.to) return null;
  for (let at = 0; at < sched.off.length; at += 4) {
    const [from, to, what, number] = sched.off.slice(at, at + 4);
    if (ns < from - slack || ns > Math.max(to, from + slack)) continue;
    if (what === MANY) return `off its CPU for ${duration(number)} of ${duration(to - from)}, in several spells`;
    if (what === UNKNOWN) return "records of the scheduler are missing here";
    if (what === READY) return `ready to run for ${duration(to - from)}, while ${number ? `tid ${number}` : "another"} had the CPU`;
    if (what === WAITS) return `off its CPU for ${duration(to - from)}: it waited`;
  }
  return "on a CPU";
}
