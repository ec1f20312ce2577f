// The flame graph of the visible range or a window: `ada graph`. A frame is a button: it shows what lies below it in full width.
import { ask } from "./api.js";
import { baked } from "./baked.js";
import { colour, count, duration, element } from "./format.js";
import { shortName } from "./names.js";
import { ranged } from "./ranged.js";

const HEIGHT = 19, LEAST = 2; // pixels

// Rows come parents first. A call that began before the range has no time of its own: that of the calls below it stands for it.
function treeOf(rows) {
  const nodes = new Map(), root = { name: "all threads", module: "", value: 0, total: 0, calls: 0, children: [], parent: null };
  for (const row of rows) {
    const parent = row.parent === null ? root : nodes.get(row.parent);
    if (!parent) continue;
    const node = { name: row.function, module: row.module, total: row.total_ns, self: row.self_ns, calls: row.calls, value: row.total_ns, children: [], parent };
    parent.children.push(node);
    nodes.set(row.id, node);
  }
  const settle = [root];
  for (let i = 0; i < settle.length; i++) settle.push(...settle[i].children);
  for (const node of settle.reverse()) {
    const below = node.children.reduce((sum, child) => sum + child.value, 0);
    node.value = Math.max(node.value, below);
  }
  root.total = root.value;
  return root;
}

function frames(place, top, said) {
  const width = place.clientWidth || 400, nodes = [];
  const above = [];
  for (let node = top.parent; node; node = node.parent) above.unshift(node);
  const put = (node, x, wide, depth) => {
    const frame = element("button", {
      className: "frame",
      title: `${node.name} [${node.module}]  ${duration(node.value)}, ${count(node.calls)} calls`,
      onclick: () => frames(place, node, said),
      onmouseenter: () => { said.textContent = frame.title; },
      onfocus: () => { said.textContent = frame.title; },
    }, wide > 24 ? shortName(node.name) : "");
    frame.setAttribute("aria-label", frame.title);
    Object.assign(frame.style, { left: `${x}px`, width: `${Math.max(wide - 0.5, 1)}px`, top: `${depth * HEIGHT}px` });
    frame.style.setProperty("--light", colour(node.name, false)); // the theme chooses: it may change
    frame.style.setProperty("--dark", colour(node.name, true));
    nodes.push(frame);
  };
  above.forEach((node, depth) => put(node, 0, width, depth));
  let deepest = above.length;
  const descend = (node, x, wide, depth) => {
    if (wide < LEAST || nodes.length > 4000) return;
    put(node, x, wide, depth);
    deepest = Math.max(deepest, depth);
    for (const child of node.children) {
      const share = node.value ? child.value / node.value * wide : 0;
      descend(child, x, share, depth + 1);
      x += share;
    }
  };
  descend(top, 0, width, above.length);
  place.style.height = `${(deepest + 1) * HEIGHT}px`;
  place.replaceChildren(...nodes);
}

ranged("flame", async (panel, range, signal, words) => {
  const told = await ask("command", { run: "graph", ...range }, signal);
  const place = element("div", { id: "frames" }), said = element("p", { className: "quiet", role: "status" }, `Time within the ${words}. A frame shows what lies below it.${baked ? " Frames of less than 0.2 % are not in this file." : ""}`);
  panel.replaceChildren(said, place);
  if (told.rows.length) frames(place, treeOf(told.rows), said);
  else said.textContent = `No call is open in the ${words}.`;
});
