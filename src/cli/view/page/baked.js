// A page in a file has its answers with it, of one range: `ada view --export`. Here they are asked as the server would be.

const place = document.getElementById("baked");
export const baked = place && JSON.parse(place.textContent);

const SLICE = 8; // numbers: depth, column, start, duration, function, calls, their time, index_seq

function slicesOf(thread) {
  return baked.timeline.threads.find((each) => each.thread === thread)?.slices ?? [];
}

// The slices of a thread in a range, by column: as the server draws from cells, so here from slices.
function redrawn(thread, { from, to, columns, depths }) {
  const cells = new Map(), before = [];
  for (let at = 0; at < thread.slices.length; at += SLICE) {
    const slice = thread.slices.slice(at, at + SLICE), [depth, , start, duration, , calls, busy] = slice;
    if (depth >= depths || start >= to || start + duration < from) continue;
    if (start < from) {
      before.push(depth, 0, start, duration, slice[4], 0, 0, slice[7]);
      continue;
    }
    const column = Math.min(columns - 1, Math.floor((start - from) * columns / (to - from))), key = depth * columns + column, cell = cells.get(key);
    slice[1] = column;
    if (!cell) {
      cells.set(key, slice);
      continue;
    }
    const sums = [cell[5] + calls, cell[6] + busy];
    if (duration > cell[3]) cells.set(key, slice);
    [cells.get(key)[5], cells.get(key)[6]] = sums;
  }
  return { ...thread, slices: before.concat(...cells.values()) };
}

const isIn = (told, name) => (name.startsWith("=") ? told === name.slice(1) : /[*?[]/.test(name) ? new RegExp(`^${name.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`).test(told) :
  told.toLowerCase().includes(name.toLowerCase()));

function search({ function: name, from, to, columns }) {
  const ids = new Set(baked.timeline.functions.flatMap(([told], id) => (isIn(told, name) ? [id] : [])));
  const functions = baked.report.rows.filter((row) => isIn(row.function, name));
  const hits = [];
  for (const { thread, slices } of baked.timeline.threads) {
    const found = new Set();
    let first = null;
    for (let at = 0; at < slices.length; at += SLICE) {
      if (!ids.has(slices[at + 4]) || slices[at + 2] < from || slices[at + 2] >= to || slices[at + 7] < 0) continue;
      found.add(Math.floor((slices[at + 2] - from) * columns / (to - from)));
      first = first === null ? slices[at + 7] : Math.min(first, slices[at + 7]);
    }
    if (found.size) hits.push({ thread, first, columns: [...found].sort((a, b) => a - b) });
  }
  return { functions, found: functions.length, hits };
}

// The next call of them that this file has.
function hit({ function: name, step, time, thread = -1, seq = -1, only }) {
  const all = baked.timeline.threads.filter((each) => only === undefined || each.thread === only).flatMap((each) => {
    const found = [];
    for (let at = 0; at < each.slices.length; at += SLICE)
      if (each.slices[at + 7] >= 0 && isIn(baked.timeline.functions[each.slices[at + 4]][0], name))
        found.push({ function: baked.timeline.functions[each.slices[at + 4]], at: each.slices[at + 2], thread: each.thread, seq: each.slices[at + 7] });
    return found;
  });
  const here = { at: time, thread, seq }, compare = (a, b) => a.at - b.at || a.thread - b.thread || a.seq - b.seq;
  all.sort(compare);
  return { hit: (step > 0 ? all.find((each) => compare(each, here) > 0) : all.findLast((each) => compare(each, here) < 0)) ?? null };
}

function call({ thread, seq }) {
  const slices = slicesOf(thread), all = [];
  for (let at = 0; at < slices.length; at += SLICE) if (slices[at + 7] >= 0) all.push(slices.slice(at, at + SLICE));
  all.sort((a, b) => a[7] - b[7]);
  const number = all.findLastIndex((slice) => slice[7] <= seq), slice = all[number];
  if (!slice) throw new Error("This file has no call there.");
  const [depth, , start, duration, id] = slice;
  const told = (each) => each && { seq: each[7], at: each[2], duration_ns: each[3], function: baked.timeline.functions[each[4]] };
  const around = all.filter((each) => each[0] < depth && each[7] < slice[7] && each[2] <= start && each[2] + each[3] >= start + duration);
  const path = [...new Map(around.map((each) => [each[0], each])).values()].sort((a, b) => a[0] - b[0]);
  const same = (each) => each[4] === id && each[7] !== slice[7];
  const usual = baked.report.rows.find((row) => row.function === baked.timeline.functions[id][0] && row.module === baked.timeline.functions[id][1]);
  return {
    function: baked.timeline.functions[id], thread, seq: slice[7], at: start, duration_ns: duration, depth, usual,
    path: [...path, slice].map(told), caller: told(path.at(-1)), callee: told(all.slice(number + 1).find((each) => each[0] === depth + 1 && each[2] <= start + duration)),
    previous: told(all.slice(0, number).findLast(same)), next: told(all.slice(number + 1).find(same)),
  };
}

const isOf = (row, thread, seq) => row.thread === thread.number && row.index_seq === seq && (!row.process || row.process === thread.process);

function command({ run, thread, seq }) {
  const of = baked.session.threads[thread];
  if (run === "detail") return baked.details.flat().filter((row) => row.detail && isOf(row, of, seq)).slice(0, 1);
  if (run === "cause") return { rows: baked.causes.rows.filter((row) => isOf(row, of, seq)) };
  return baked[run];
}

// What the server would answer; detail has a list, one of each line.
export function answerBaked(path, parameters) {
  if (path === "session") return { ...baked.session, live: false, range: { from: baked.from, to: baked.to }, shown: baked.threads };
  if (path === "timeline") {
    const wanted = parameters.threads.split(",").map(Number);
    return { ...baked.timeline, threads: baked.timeline.threads.filter((each) => wanted.includes(each.thread)).map((each) => redrawn(each, parameters)) };
  }
  return { search, hit, call, command }[path](parameters);
}
