// Numbers, names and colours as people read them.

const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

export function duration(ns) {
  const [unit, size] = UNITS.find(([, each]) => ns >= each) ?? ["ns", 1];
  const value = ns / size;
  return `${size === 1 ? Math.round(value) : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
}

export function count(number) {
  return number.toLocaleString("en");
}

// A time on the ruler, as exact as its steps are.
export function time(ns, step = 1) {
  const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(Math.max(step, 1)))));
  const text = Math.abs(ns / 1e9).toFixed(digits);
  return `${ns < 0 && Number(text) ? "-" : "+"}${text} s`;
}

export const HUES = 360, SHADES = 8;

// A colour of a slice: text on it has a contrast of 4.5 or more in both themes.
export function shadeOf(hue, shade, dark) {
  return dark ? `hsl(${hue} 42% ${26 + shade}%)` : `hsl(${hue} 58% ${74 + shade}%)`;
}

const colours = new Map();

// The same name has the same colour everywhere.
export function colour(name, dark) {
  const key = (dark ? "d" : "l") + name;
  if (!colours.has(key)) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    colours.set(key, shadeOf((hash >>> 0) % HUES, (hash >>> 9) % SHADES, dark));
  }
  return colours.get(key);
}

// element("td", { className: "number" }, "text", node, ...)
export function element(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
