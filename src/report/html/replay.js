// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `e4replay replay`.
const policies = data.policies;                                // series 1, 2, ...
const ends = [...(data.recorded ? ['recorded'] : []), ...policies];
const columns = ['start', ...ends];
const firstPolicy = ends.length - policies.length;             // among the ends
const colourOfEnd = (i) => i < firstPolicy ? 'var(--recorded)' : colourOf(1 + i - firstPolicy);
const colourOfColumn = (i) => i === 0 ? colourOf(0) : colourOfEnd(i - 1);

// ---- Bars side by side, one group per label.

function barGroup(label, x, step, bars, scale, base, title) {
  const wide = Math.max(1, Math.min(22, step * 0.8 / bars.length));
  const left = x + (step - wide * bars.length) / 2;
  const rects = bars.map(({value, colour}, i) => value > 0 ? svg('rect', {
    x: left + i * wide, width: Math.max(wide - 1, 1), y: scale.at(value),
    height: Math.max(base - scale.at(value), 1), fill: colour}) : null);
  return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
      svg('title', {}, title),
      svg('rect', {class: 'hit', x, width: step, y: kTop, height: base - kTop}), ...rects);
}

// `across` and `up`: the labels of the axes.
function groupedBars(labels, titles, series, label, across, up) {
  return (width) => {
    const left = 54, step = Math.min((width - left) / labels.length, 130), slanted = step < 58;
    const base = 224, height = base + (slanted ? 66 : 40);
    const most = Math.max(1, ...series.flatMap((one) => one.values));
    const scale = countScale(most, base, kTop);
    const groups = labels.map((name, i) => {
      const bars = series.map((one) => ({value: one.values[i], colour: one.colour}));
      const middle = left + (i + 0.5) * step;
      const tick = text(middle, base + 14, slanted ? 'end' : 'middle', name);
      if (slanted) tick.setAttribute('transform', `rotate(-40 ${middle} ${base + 8})`);
      return svg('g', {}, barGroup(name, left + i * step, step, bars, scale, base, titles[i]),
                 tick);
    });
    const right = left + step * labels.length;
    return [frame(width, height, label, yTitle(up, scale), ...yAxis(scale, left, right), ...groups,
                  xTitle((left + right) / 2, height - 6, across))];
  };
}

function drawHistogram() {
  const {from_kb: from, extents, percent} = data.histogram;
  const labels = from.map((kb) => sizeKb(kb));
  const titles = from.map((kb, i) => `${sizeKb(kb)} to ${sizeKb(2 * kb)}: ` + columns.map(
      (name, s) => `${name} ${count(extents[s][i])} extents, ${count(percent[s][i])} % of free space`)
      .join('; '));
  const series = columns.map((_, s) => ({values: extents[s], colour: colourOfColumn(s)}));
  byId('histogram').append(legend(columns.map((name, s) => key(name, colourOfColumn(s)))));
  plot('histogram', groupedBars(labels, titles, series, 'Free extents by size',
                                'size of a free extent, from', 'free extents'));
}

function drawFiles() {
  const {labels, files} = data.files;
  const titles = labels.map((label, i) => `${label} extents: ` +
      ends.map((name, s) => `${name} ${count(files[s][i])} files`).join('; '));
  const series = ends.map((_, s) => ({values: files[s], colour: colourOfEnd(s)}));
  byId('files').append(legend(ends.map((name, s) => key(name, colourOfEnd(s)))));
  plot('files', groupedBars(labels, titles, series, 'Files by number of extents',
                            'extents of a file', 'files'));
}

// ---- The share of each criterion in a total. The length of a bar shows the total; cheap criteria are dark,
// expensive ones bright. Groups and extents are both steps, so they share a scale.

const criterionColour = (i) => viridis(data.criteria.names.length < 2 ? 0.5 :
    0.08 + 0.88 * i / (data.criteria.names.length - 1));
const sum = (values) => values.reduce((a, b) => a + b, 0);

// The largest shares in words, for bars that are too short to show them, as far as there is room.
function sharesInWords(values, room) {
  const total = sum(values);
  let words = '';
  const by_size = values.map((value, i) => [value, data.criteria.names[i]])
      .filter(([value]) => value > 0).sort((one, other) => other[0] - one[0]);
  for (const [value, name] of by_size) {
    const share = 100 * value / total;
    const percent = share < 1 ? '<1' : String(Math.round(share));
    const more = `${words === '' ? ': ' : ', '}${name} ${percent} %`;
    if (6.4 * (words.length + more.length) > room) break;
    words += more;
  }
  return words;
}

function stackedBar(name, values, x, y, width, room) {
  const total = sum(values);
  let at = x;
  const parts = values.map((value, i) => {
    if (value === 0) return null;
    const length = width * value / total;
    const title = `${name}, ${data.criteria.names[i]}: ${count(value)} of ${count(total)}, ` +
        `${count(100 * value / total)} %`;
    const part = svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
        svg('title', {}, title),
        svg('rect', {x: at, y, width: length, height: 17, fill: criterionColour(i)}),
        svg('rect', {class: 'hit', x: at, y, width: length, height: 17}));
    at += length;
    return part;
  });
  const words = room > 100 ? sharesInWords(values, room - 6 - 7 * count(total).length) : '';
  return svg('g', {}, ...parts, text(x + width + 6, y + 13, 'start', count(total) + words));
}

function drawCriteria() {
  const most = (of) => Math.max(1, ...of.flatMap((runs) => runs.filter((one) => one !== null).map(sum)));
  const {hits, groups, extents} = data.criteria;
  const steps = most([groups, extents]);
  const measures = [['searches ended by', hits, most([hits])],
                    ['groups considered', groups, steps], ['extents examined', extents, steps]];
  const names = data.criteria.names.map((name, i) => key(name, criterionColour(i)));
  byId('criteria').append(legend(names));
  plot('criteria', (width) => {
    const longest = Math.max(...ends.map((name) => name.length));
    const left = Math.min(120, 10 + 7 * longest), right = 76, full = width - left - right;
    const nodes = [];
    let y = 6;
    for (const [title, values, whole] of measures) {
      const heading = text(0, y + 12, 'start', title);
      heading.setAttribute('font-weight', 600);
      nodes.push(heading);
      y += 19;
      nodes.push(svg('line', {class: 'grid', x1: left - 0.5, x2: left - 0.5, y1: y - 1,
                              y2: y + 22 * ends.length - 4}));
      ends.forEach((name, i) => {
        nodes.push(text(left - 8, y + 13, 'end', name));
        if (values[i] === null) {
          nodes.push(text(left + 6, y + 13, 'start', 'not recorded by criterion'));
        } else {
          const length = Math.max(full * sum(values[i]) / whole, 1);
          nodes.push(stackedBar(`${name}: ${title}`, values[i], left, y, length, full - length + right));
        }
        y += 22;
      });
      y += 6;
    }
    return [frame(width, y, 'What each criterion did, and its share', ...nodes)];
  });
}

// ---- Cost over the trace: a line shows the mean of each part of the trace, and a separate mark
// its most expensive request.

const kParts = 48;

// At most `parts` parts. For each: where it begins and ends, its mean, and its most expensive request.
function partsOf(cost, parts) {
  const each = Math.max(1, Math.ceil(cost.steps.length / parts)), out = [];
  for (let i = 0; i < cost.steps.length; i += each) {
    const of = (values) => values.slice(i, i + each);
    const requests = sum(of(cost.requests));
    if (requests === 0) continue;
    const to = Math.min((i + each) * cost.width, cost.decisions);
    out.push({from: i * cost.width, to, mean: sum(of(cost.steps)) / requests,
              most: Math.max(...of(cost.most))});
  }
  return out;
}

// Hollow marks, with a shape for each policy: circle, square, diamond, triangle.
function outline(form, x, y) {
  const r = 3.4;
  return [`M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
          `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
          `M${x} ${y - 4.4}l4.4 4.4l-4.4 4.4l-4.4 -4.4z`,
          `M${x} ${y - 4}l4 7h-8z`][form % 4];
}
const marksPath = (points, form, colour) => svg('path', {
  d: points.map(([x, y]) => outline(form, Number(x.toFixed(1)), Number(y.toFixed(1)))).join(''),
  fill: 'none', stroke: colour, 'stroke-width': 1.3});

// Marks keep a distance, so that they do not look like a line. The marks of different policies are side by side.
function costLines(cost, parts, series, place, scale) {
  const middle = ({from, to}) => place((from + to) / 2);
  const path = parts.map((part, i) =>
      `${i === 0 ? 'M' : 'L'}${middle(part).toFixed(1)} ${scale.at(part.mean).toFixed(1)}`).join('');
  const room = Math.max(1, Math.floor((place(cost.decisions) - place(0)) / (12 + 9 * policies.length)));
  const aside = 9 * (series - (policies.length + 1) / 2);
  const costliest = partsOf(cost, room).filter(({most}) => most > 0)
      .map((part) => [middle(part) + aside, scale.at(part.most)]);
  return svg('g', {},
      marksPath(costliest, series - 1, colourOf(series)),
      svg('path', {d: path, stroke: colourOf(series), 'stroke-width': 2, 'stroke-linejoin': 'round',
                   'stroke-dasharray': kDashes[(series - 1) % 4], fill: 'none'}));
}

// The areas that show figures when the pointer is on them: one for each part of the trace, for all
// policies together.
function costItem(all, i, place, base) {
  const {from, to} = all[0][i];
  const title = `decisions ${count(from + 1)} to ${count(to)}: ` + all.map((parts, s) =>
      parts[i] === undefined ? '' : `${policies[s]} mean ${count(parts[i].mean)} steps, costliest ` +
      count(parts[i].most)).join('; ');
  return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
      svg('title', {}, title),
      svg('rect', {class: 'hit', x: place(from), width: Math.max(place(to) - place(from), 1), y: kTop,
                   height: base - kTop}));
}

// A sample of a line and of a mark, for the legend.
function costKey(name, series) {
  const sample = svg('svg', {width: 46, height: 12, 'aria-hidden': 'true', class: 'sample'},
      svg('path', {d: 'M0 6h26', stroke: colourOf(series), 'stroke-width': 2, fill: 'none',
                   'stroke-dasharray': kDashes[(series - 1) % 4]}),
      marksPath([[36, 6]], series - 1, colourOf(series)));
  return html('span', {}, sample, name);
}

function drawCost() {
  byId('cost').append(legend(policies.map((name, s) => costKey(name, s + 1))));
  const all = data.cost.map((cost) => partsOf(cost, kParts));
  plot('cost', (width) => {
    const height = 270, left = 54, base = height - 38, right = width - 4;
    const drawn = all.flatMap((parts) => parts.flatMap(({mean, most}) => [mean, most]))
        .filter((steps) => steps > 0);
    const scale = logScale(Math.min(1, ...drawn), Math.max(1, ...drawn), base, kTop);
    const axis = decisionAxis(Math.max(...data.cost.map((cost) => cost.decisions), 1), left, right, base);
    return [frame(width, height, 'Cost of searches over the decisions of the trace',
        yTitle('steps per request', scale), ...yAxis(scale, left, right),
        ...all.map((parts, s) => costLines(data.cost[s], parts, s + 1, axis.place, scale)),
        ...all[0].map((_, i) => costItem(all, i, axis.place, base)), ...axis.nodes)];
  });
}

// ---- Maps of the groups.

const map = data.map;
const cells = map.free[0].length;
const clustersOf = (cell) => {
  const whole = map.per_cell * map.clusters_per_group;
  return Math.min(whole, map.clusters - cell * whole);
};
const kMeasures = {
  share: (s, i) => 100 * map.free[s][i] / clustersOf(i),
  average: (s, i) => map.runs[s][i] === 0 ? 0 : map.cluster_kb * map.free[s][i] / map.runs[s][i],
};
const unitOf = (measure, value) => measure === 'share' ? `${count(value)} %` : sizeKb(value);
const frames = Math.max(...map.history.map((frames) => frames.length));
// The frame that the maps show: 0 is the start, `frames` the last one during the replay, `frames` + 1 the end.
const state = {measure: 'share', cell: 0, canvases: [], frame: frames + 1};
const atEnd = {free: map.free, runs: map.runs};

// Sets `map` to the groups' free space at the frame.
function showFrame(frame) {
  state.frame = frame;
  map.free = atEnd.free.map((values, s) => s === 0 || frame > frames ? values : [...atEnd.free[0]]);
  map.runs = atEnd.runs.map((values, s) => s === 0 || frame > frames ? values : [...atEnd.runs[0]]);
  if (frame > frames) return;
  map.history.forEach((history, s) => {
    for (const change of history.slice(0, frame))
      change.cells.forEach((cell, i) => {
        map.free[s + 1][cell] = change.free[i];
        map.runs[s + 1][cell] = change.runs[i];
      });
  });
}

function whenText() {
  if (state.frame > frames) return 'the end';
  if (state.frame === 0) return 'the start';
  const longest = map.history.find((history) => history.length === frames);
  return `decision ${count(longest[state.frame - 1].decision)}`;
}

// For each map: its title and the value of a cell.
function mapKinds() {
  const value = (s) => (i) => kMeasures[state.measure](s, i);
  const when = state.frame > frames ? 'end' : 'then';
  const kinds = columns.map((name, s) => ({title: s === 0 ? 'start' : `${when}, ${name}`, value: value(s)}));
  const minus = (other, one) => kinds.push({title: `${columns[other]} minus ${columns[one]}`,
    difference: true, value: (i) => value(other)(i) - value(one)(i)});
  // Compares every other policy with the first one, and a single policy with the start.
  const first = 1 + firstPolicy;
  for (let other = first + 1; other < columns.length; ++other) minus(other, first);
  if (policies.length === 1) minus(first, 0);
  return kinds;
}

function drawMap(canvas, kind, most, columnsOfCells) {
  const size = Math.max(1, Math.floor(canvas.parentNode.clientWidth / columnsOfCells));
  const rows = Math.ceil(cells / columnsOfCells);
  canvas.width = size * columnsOfCells;
  canvas.height = size * rows;
  canvas.style.width = `${canvas.width}px`;
  const context = canvas.getContext('2d');
  const gap = size > 7 ? 1 : 0;
  for (let i = 0; i < cells; ++i) {
    const share = most === 0 ? 0 : kind.value(i) / most;
    context.fillStyle = kind.difference ? between(kDiverging, (share + 1) / 2) : viridis(share);
    context.fillRect(i % columnsOfCells * size, Math.floor(i / columnsOfCells) * size,
                     size - gap, size - gap);
  }
  canvas.e4r = {size, columnsOfCells};
}

const markColour = getComputedStyle(document.documentElement).getPropertyValue('--mark');

function markCell(canvas) {
  const {size, columnsOfCells} = canvas.e4r;
  const context = canvas.getContext('2d');
  context.strokeStyle = markColour;
  context.lineWidth = 2;
  context.strokeRect(state.cell % columnsOfCells * size - 0.5,
                     Math.floor(state.cell / columnsOfCells) * size - 0.5, size + 1, size + 1);
}

function scaleBar(kind, most) {
  const bar = html('canvas', {width: 128, height: 8, 'aria-hidden': 'true'});
  const context = bar.getContext('2d');
  for (let x = 0; x < 128; ++x) {
    context.fillStyle = kind.difference ? between(kDiverging, x / 127) : viridis(x / 127);
    context.fillRect(x, 0, 1, 8);
  }
  const low = kind.difference ? `−${unitOf(state.measure, most)}` : unitOf(state.measure, 0);
  return html('div', {class: 'scale'}, low, bar, (kind.difference ? '+' : '') + unitOf(state.measure, most));
}

function cellText(cell) {
  const first = cell * map.per_cell, last = Math.min(first + map.per_cell, map.groups) - 1;
  const where = map.per_cell === 1 ? `group ${first}` : `groups ${first} to ${last}`;
  const parts = columns.map((name, s) => `${name}: ${count(map.free[s][cell])} clusters free ` +
      `(${count(kMeasures.share(s, cell))} %) in ${count(map.runs[s][cell])} extents, ` +
      `average ${sizeKb(kMeasures.average(s, cell))}`);
  return `${where} — ${parts.join('; ')}`;
}

function choose(cell) {
  if (cell < 0 || cell >= cells) return;
  state.cell = cell;
  byId('cell').textContent = cellText(cell);
  drawMaps();
  for (const one of state.canvases) markCell(one.canvas);
}

// The largest current value of the maps, or of the difference.
function largest(kinds, difference) {
  let most = 0;
  for (const kind of kinds.filter((one) => !!one.difference === difference))
    for (let i = 0; i < cells; ++i) most = Math.max(most, Math.abs(kind.value(i)));
  return most;
}

function drawMaps() {
  const kinds = mapKinds(), frame = state.frame;
  // Colours mean the same in every frame as at the end, unless a frame has larger values.
  const now = [largest(kinds, false), largest(kinds, true)];
  showFrame(frames + 1);
  const [most, least] = [Math.max(largest(kinds, false), now[0]), Math.max(largest(kinds, true), now[1])];
  showFrame(frame);
  const across = Math.min(cells, Math.max(8, Math.ceil(Math.sqrt(cells * 1.8))));
  state.canvases.forEach(({canvas, scale, title}, i) => {
    title.textContent = kinds[i].title;
    const limit = kinds[i].difference ? least : most;
    drawMap(canvas, kinds[i], limit, across);
    scale.replaceChildren(scaleBar(kinds[i], limit));
  });
}

function cellAt(canvas, event) {
  const {size, columnsOfCells} = canvas.e4r;
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const column = Math.floor((event.clientX - box.left) * ratio / size);
  const row = Math.floor((event.clientY - box.top) * ratio / size);
  return column < columnsOfCells ? row * columnsOfCells + column : -1;
}

function moveBy(canvas, event) {
  const steps = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -canvas.e4r.columnsOfCells,
                 ArrowDown: canvas.e4r.columnsOfCells, Home: -state.cell,
                 End: cells - 1 - state.cell};
  if (!(event.key in steps)) return;
  event.preventDefault();
  choose(state.cell + steps[event.key]);
}

function makeMaps() {
  const host = byId('maps');
  for (const kind of mapKinds()) {
    const title = html('h4', {}, kind.title);
    const canvas = html('canvas', {tabindex: 0, role: 'img', 'aria-describedby': 'cell',
      'aria-label': `map of the groups, ${kind.title}; arrow keys move from group to group`});
    const scale = html('div', {});
    canvas.addEventListener('mousemove', (event) => {
      const cell = cellAt(canvas, event);
      if (cell !== state.cell) choose(cell);
    });
    canvas.addEventListener('focus', () => choose(state.cell));
    canvas.addEventListener('keydown', (event) => moveBy(canvas, event));
    host.append(html('div', {}, title, canvas, scale));
    state.canvases.push({canvas, scale, title});
  }
  byId('measure').addEventListener('change', (event) => {
    state.measure = event.target.value;
    drawMaps();
  });
  const time = byId('time');
  time.max = frames + 1;
  time.value = frames + 1;
  time.parentNode.hidden = frames === 0;
  const tell = () => {
    byId('when').textContent = whenText();
    time.setAttribute('aria-valuetext', whenText());
  };
  time.addEventListener('input', () => {
    showFrame(Number(time.value));
    tell();
    drawMaps();
    byId('cell').textContent = cellText(state.cell);
  });
  tell();
  plots.push(drawMaps);
  drawMaps();
}

drawCriteria();
drawCost();
drawHistogram();
makeMaps();
drawFiles();
