"""Scripts that look at a page as people do who see little or use no mouse: what has which name, and how legible text is."""

# In all of them: a colour's luminance, and the contrast of two colours, as WCAG has them.
COLOURS = """
const channel = (value) => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; };
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const contrastOf = (one, other) => {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
};
const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
// Colours as they come to lie one over another, the lowest first.
const painted = (...colours) => {
  pixel.clearRect(0, 0, 1, 1);
  for (const each of colours) {
    pixel.fillStyle = each;
    pixel.fillRect(0, 0, 1, 1);
  }
  return [...pixel.getImageData(0, 0, 1, 1).data];
};
"""

# Text that is shown, and its contrast with what is behind it, where that is less than 4.5. A control that is disabled is none.
TEXT = COLOURS + """
const behind = (node) => {
  const colours = [];
  for (; node; node = node.parentElement) {
    colours.unshift(getComputedStyle(node).backgroundColor);
    if (painted(colours[0])[3] === 255) break;
  }
  return ["#fff", ...colours];
};
const found = [];
const look = (node, text, colour) => {
  const under = behind(node), contrast = contrastOf(painted(...under, colour), painted(...under));
  if (contrast < 4.5) found.push(`${node.tagName} ${text.slice(0, 30)}: ${contrast.toFixed(2)}`);
};
let texts = 0;
for (const node of document.querySelectorAll("body *")) {
  const text = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.textContent.trim()).join("");
  if (!node.checkVisibility() || node.disabled) continue;
  if (text) look(node, text, getComputedStyle(node).color);
  if (text) texts++;
  if (node.placeholder) look(node, node.placeholder, getComputedStyle(node, "::placeholder").color);
}
return [texts, found];
"""

# Colours of slices, of every hue and shade that names are given, under the text on them, in both themes: those that are hard to read.
PALETTE = COLOURS + """
const { shadeOf, HUES, SHADES } = await import("./format.js"), root = document.documentElement, before = root.dataset.theme;
const found = [];
let looked = 0;
for (const theme of ["light", "dark"]) {
  root.dataset.theme = theme;
  const text = painted(getComputedStyle(root).getPropertyValue("--slice-text"));
  for (let hue = 0; hue < HUES; hue++) {
    for (let shade = 0; shade < SHADES; shade++, looked++) {
      const contrast = contrastOf(text, painted(shadeOf(hue, shade, theme === "dark")));
      if (contrast < 4.5) found.push([theme, hue, shade, contrast]);
    }
  }
}
root.dataset.theme = before;
return [looked, found];
"""

# What is written on the timeline, with the lowest contrast that it has with any pixel in its box, as they are before it is written.
WRITTEN = COLOURS + """
const canvas = document.getElementById("canvas"), context = canvas.getContext("2d"), { fillText } = context, written = [];
const copy = document.createElement("canvas"), reading = copy.getContext("2d", { willReadFrequently: true });
context.fillText = function (text, x, y) {
  const box = this.measureText(text), ratio = canvas.width / canvas.clientWidth;
  const left = Math.max(x, 0), right = Math.min(x + box.width, canvas.clientWidth), top = y - box.actualBoundingBoxAscent, bottom = y + box.actualBoundingBoxDescent;
  if (right - left >= 1 && top >= 0 && bottom <= canvas.clientHeight) {
    Object.assign(copy, { width: Math.floor((right - left) * ratio), height: Math.floor((bottom - top) * ratio) });
    reading.drawImage(canvas, -Math.ceil(left * ratio), -Math.ceil(top * ratio));
    const { data } = reading.getImageData(0, 0, copy.width, copy.height);
    const colour = painted(this.fillStyle);
    let least = Infinity;
    for (let at = 0; at < data.length; at += 4) least = Math.min(least, contrastOf(colour, data.subarray(at, at + 3)));
    written.push([text, Math.round(least * 100) / 100]);
  }
  return fillText.call(this, text, x, y);
};
const { redraw } = await import("./draw.js"), frames = document.body.dataset.frames;
redraw();
await new Promise((resolve) => { const look = () => (document.body.dataset.frames !== frames ? resolve() : requestAnimationFrame(look)); look(); });
delete context.fillText;
return written;
"""

# What is wrong with the page's structure.
STRUCTURE = """
const found = [], all = [...document.querySelectorAll("body *")];
const ids = new Map();
for (const { id } of all) if (id) ids.set(id, (ids.get(id) ?? 0) + 1);
for (const [id, times] of ids) if (times > 1) found.push(`${times} elements are #${id}`);
for (const node of all) {
  for (const name of ["aria-controls", "aria-labelledby", "aria-describedby", "for"])
    for (const id of (node.getAttribute(name) ?? "").split(" ")) if (id && !ids.has(id)) found.push(`${name}="${id}" is of nothing`);
  if (node.tabIndex > 0) found.push(`${node.outerHTML.slice(0, 60)} is before others`);
  if (node.matches("th:not([scope])")) found.push(`${node.innerText} is a header of what?`);
  if (node.matches("button, a, input, select") && node.parentElement.closest("button, a")) found.push(`${node.outerHTML.slice(0, 60)} is within another`);
  if (node.matches("[aria-label]:is(div, span, p, i, td, li):not([role])")) found.push(`${node.outerHTML.slice(0, 60)} has a name, but no role`);
}
if (!document.documentElement.lang || !document.title) found.push("no language, or no title");
if (document.querySelectorAll("main, h1").length !== 2) found.push("no main part, or no heading");
let level = 1;
for (const node of all.filter((each) => each.matches("h1, h2, h3, h4") && each.checkVisibility())) {
  const now = Number(node.tagName[1]);
  if (now > level + 1) found.push(`${node.innerText} is of level ${now} behind ${level}`);
  level = now;
}
const tabs = [...document.querySelectorAll("[role=tab]")].filter((tab) => tab.getAttribute("aria-selected") === "true");
if (tabs.length !== 1 || document.getElementById(tabs[0].getAttribute("aria-controls")).hidden) found.push("the tab that is selected isn't the one that is shown");
return found;
"""

# Begins to note what has the focus; what can have it is numbered.
CONTROLS = """
const isShown = (node) => node.checkVisibility({ visibilityProperty: true }) && (!document.querySelector("dialog[open]") || node.closest("dialog"));
window.controls = [...document.querySelectorAll("button, input, select, a[href], [tabindex='0']")].filter((node) => !node.disabled && isShown(node));
return window.controls.map((node) => `${node.tagName} ${node.id} ${node.innerText ?? ""}`.slice(0, 60));
"""
FOCUSED = "return window.controls.indexOf(document.activeElement)"


def unnamed(browser):
    """What a reader aloud can come to, and has no name for, as the browser computes names."""
    nodes = browser.tools("Accessibility.getFullAXTree")["nodes"]
    shown = [node for node in nodes if not node["ignored"]]
    assert len(shown) > 20
    return [(node["role"]["value"], node.get("properties")) for node in shown
            if (any(each["name"] == "focusable" and each["value"]["value"] for each in node.get("properties", ()))
                or node["role"]["value"] in ("image", "img", "progressbar", "dialog", "tabpanel"))
            and node["role"]["value"] != "RootWebArea" and not node.get("name", {}).get("value", "").strip()]
