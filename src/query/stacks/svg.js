// Zoom and search of a flame graph. A frame is <g class="f"><title>, <rect>, <text>; the first line of its title is its name.
// The file stands in a CDATA section: it must not have its end.
const frames = [...document.querySelectorAll('g.f')].map(g => {
  const rect = g.querySelector('rect'), at = name => Number(rect.getAttribute(name));
  return { g, rect, text: g.querySelector('text'), name: g.querySelector('title').textContent.split('\n')[0],
           x: at('x'), y: at('y'), wide: at('width'), ns: Number(rect.dataset.ns), fill: rect.getAttribute('fill') };
});
const WIDE = frames.length ? frames[0].wide : 0, said = document.getElementById('said');
function fit(frame, x, wide) {
  const most = Math.floor((wide - 4) / 7), name = [...frame.name];
  frame.rect.setAttribute('x', x);
  frame.rect.setAttribute('width', wide);
  frame.text.setAttribute('x', x + 2);
  frame.text.textContent = name.length <= most ? frame.name : most < 3 ? '' : name.slice(0, most - 2).join('') + '..';
}
function zoom(to) {
  for (const frame of frames) {
    const around = frame.y < to.y && frame.x <= to.x + 1e-3 && frame.x + frame.wide >= to.x + to.wide - 1e-3;
    const below = frame.y >= to.y && frame.x >= to.x - 1e-3 && frame.x + frame.wide <= to.x + to.wide + 1e-3;
    frame.g.style.display = around || below ? '' : 'none';
    frame.g.style.opacity = around ? 0.5 : 1;
    if (around) fit(frame, frames[0].x, WIDE);
    else if (below) fit(frame, frames[0].x + (frame.x - to.x) / to.wide * WIDE, frame.wide / to.wide * WIDE);
  }
}
function search() {
  const words = prompt('Functions whose name fits this regular expression:', '');
  let wanted = null, end = {}, sum = 0;
  if (words === null) return;
  try { wanted = words ? new RegExp(words) : null; } catch (error) { said.textContent = String(error.message); return; }
  for (const frame of frames) {
    const fits = wanted !== null && wanted.test(frame.name);
    frame.rect.setAttribute('fill', fits ? 'rgb(230,120,230)' : frame.fill);
    if (fits && !(end.x <= frame.x + 1e-3 && end.x + end.wide >= frame.x + frame.wide - 1e-3)) { end = frame; sum += frame.ns; }
  }
  said.textContent = wanted && frames.length ? (100 * sum / frames[0].ns).toFixed(1) + ' % of the time' : '';
}
for (const frame of frames) frame.g.addEventListener('click', () => zoom(frame));
document.getElementById('search').addEventListener('click', search);
