// SPDX-License-Identifier: GPL-2.0-or-later
// What every page's script stands on: reads the data, makes elements, scales and colours.
const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const count = (n) => n === null ? '–' : n.toLocaleString('en-US', {maximumFractionDigits: 2});
const colourOf = (series) => `var(--s${series === 0 ? 0 : 1 + (series - 1) % 7})`;

// What comes from files only ever becomes text, never markup.
function make(space, name, attributes, ...children) {
  const node = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}
const svg = (...args) => make('http://www.w3.org/2000/svg', ...args);
const html = (...args) => make('http://www.w3.org/1999/xhtml', ...args);

const text = (x, y, anchor, content) => svg('text', {x, y, 'text-anchor': anchor}, content);
const key = (name, colour) => html('span', {class: 'key', style: `--colour:${colour}`}, name);
const legend = (keys) => html('div', {class: 'legend'}, ...keys);

function sizeKb(kb) {
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; kb >= 1024 && unit + 1 < units.length; ++unit) kb /= 1024;
  return `${count(kb)} ${units[unit]}`;
}

// ---- Scales and axes. Plots are drawn for the width they have, and again when that changes.

// Decades from the one below `least` to the one above `most`.
function logScale(least, most, from, to) {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)));
  const at = (value) =>
      from + (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) * (to - from);
  const ticks = [];
  for (let decade = low; decade <= high; ++decade) ticks.push(10 ** decade);
  return {at, ticks};
}

function yAxis(scale, left, right) {
  return scale.ticks.map((tick) => svg('g', {},
      svg('line', {class: 'grid', x1: left, x2: right, y1: scale.at(tick), y2: scale.at(tick)}),
      text(left - 6, scale.at(tick) + 4, 'end', (scale.text || count)(tick))));
}

const frame = (width, height, label, ...children) => svg(
    'svg', {viewBox: `0 0 ${width} ${height}`, height, role: 'group', 'aria-label': label},
    ...children);

const plots = [];
function plot(id, draw) {
  const host = byId(id);
  if (host === null) return;
  const body = html('div', {});
  host.append(body);
  plots.push(() => body.replaceChildren(...draw(Math.max(host.clientWidth, 280))));
  plots[plots.length - 1]();
}
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  for (const draw of plots) draw();
});

// ---- Colours of a value from 0 to 1.

const kViridis = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141],
                  [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
// From orange over grey to blue.
const kDiverging = [[213, 94, 0], [236, 160, 96], [225, 225, 225], [102, 170, 209], [0, 114, 178]];

function between(colours, share) {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const mix = colours[low].map((from, i) =>
      Math.round(from + (colours[low + 1][i] - from) * (place - low)));
  return `rgb(${mix.join(',')})`;
}
function viridis(share) { return between(kViridis, share); }

// A line that lies on another lets it be seen.
const kDashes = ['none', '7 4', '2 4', '12 3 2 3'];
