// SPDX-License-Identifier: GPL-2.0-or-later
// Shared by the scripts of all pages: reads the data, and makes elements, scales and colours.
const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
// Formats a number. A number that is rounded to 0 gets no sign.
const decimals = (n, format) => n.toLocaleString('en-US', format).replace(/^-(0(\.0*)?)$/, '$1');
const count = (n) => n === null ? '–' : decimals(n, {maximumFractionDigits: 2});
const colourOf = (series) => `var(--s${series === 0 ? 0 : 1 + (series - 1) % 7})`;

// Content of files becomes text only, never markup.
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

// ---- Scales and axes. A plot is drawn for its width, and again when the width changes.

// The decades from the one below `least` to the one above `most`.
function logScale(least, most, from, to) {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(low + 1, Math.ceil(Math.log10(most)));
  const at = (value) =>
      from + (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) * (to - from);
  const ticks = [];
  for (let decade = low; decade <= high; ++decade) ticks.push(10 ** decade);
  return {at, ticks, log: true};
}

// About five round steps that include all values.
function roundScale(least, most, from, to) {
  const span = most > least ? most - least : Math.abs(most) || 1;
  const rough = span / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const low = Math.floor(least / step) * step;
  const high = Math.max(Math.ceil(most / step), Math.round(low / step) + 1) * step;
  const ticks = [];
  for (let i = 0; low + i * step <= high + step / 2; ++i)
    ticks.push(Number((low + i * step).toPrecision(12)));
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const shown = (tick) => decimals(tick, {minimumFractionDigits: digits,
                                          maximumFractionDigits: digits});
  return {at: (value) => from + (value - low) / (high - low) * (to - from), ticks, text: shown};
}

// A log scale if figures lie far apart; zeros are then drawn at the bottom.
function scaleFor(values, from, to) {
  const most = Math.max(...values), above = values.filter((value) => value > 0);
  if (values.length === 0) return roundScale(0, 1, from, to);
  const least = Math.min(...above);
  if (above.length > 0 && Math.min(...values) >= 0 && most / least > 30) {
    const low = values.some((value) => value === 0) ? least / 10 : least;
    return logScale(low, most, from, to);
  }
  return roundScale(Math.min(...values), most, from, to);
}

// For bars, which begin at 0. If counts lie far apart, a log scale of 1 + count: 0 is at the
// bottom, and a count of 1 is a short bar.
function countScale(most, from, to) {
  if (most <= 30) return roundScale(0, most, from, to);
  const whole = Math.log10(1 + most), ticks = [0];
  for (let decade = 1; decade <= most; decade *= 10) ticks.push(decade);
  const at = (value) => from + Math.log10(1 + value) / whole * (to - from);
  return {at, ticks: ticks.filter((tick) => tick !== 1 || Math.abs(at(1) - from) > 14), log: true};
}

// The label of an axis.
const named = (what, scale) => scale.log ? `${what}, log scale` : what;
const yTitle = (what, scale) => {
  const title = text(0, 11, 'start', named(what, scale));
  title.setAttribute('class', 'title');
  return title;
};
const xTitle = (x, y, what, scale = {}) => {
  const title = text(x, y, 'middle', named(what, scale));
  title.setAttribute('class', 'title');
  return title;
};
const kTop = 26; // of what is drawn below a title of y

// A position in the trace, counted in decisions.
function decisionAxis(whole, left, right, base) {
  const place = (decision) => left + decision / whole * (right - left);
  const quarters = right - left < 420 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  const marks = quarters.map((part) => text(place(part * whole), base + 16,
      part === 1 ? 'end' : part === 0 ? 'start' : 'middle', count(Math.round(part * whole))));
  return {place, nodes: [...marks, xTitle((left + right) / 2, base + 32, 'decision')]};
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
  plots.push((space) => body.replaceChildren(...draw(space || Math.max(host.clientWidth, 280))));
  plots[plots.length - 1]();
}
let width = window.innerWidth;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  for (const draw of plots) draw();
});

// Paper has its own width, and printing sends no resize event.
const kPaper = 660;
window.addEventListener('beforeprint', () => { for (const draw of plots) draw(kPaper); });
window.addEventListener('afterprint', () => { for (const draw of plots) draw(); });

// ---- Colours for a value from 0 to 1.

const kViridis = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141],
                  [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
// From orange through grey to blue.
const kDiverging = [[213, 94, 0], [236, 160, 96], [225, 225, 225], [102, 170, 209], [0, 114, 178]];

function between(colours, share) {
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const low = Math.min(Math.floor(place), colours.length - 2);
  const mix = colours[low].map((from, i) =>
      Math.round(from + (colours[low + 1][i] - from) * (place - low)));
  return `rgb(${mix.join(',')})`;
}
function viridis(share) { return between(kViridis, share); }

// The dashes of each policy's line. A line below it remains visible in the gaps.
const kDashes = ['none', '7 4', '2 4', '12 3 2 3'];
