// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `e4replay sweep`.
const {captures, policies, axes, points, figures} = data;
const onFront = new Set(data.front), advised = new Set(data.advised);
const seriesOf = (point) => points.policy[point] + 1;
const figureOf = (name) => figures.find((one) => one.key === name);
// The values of the select elements. `fixed`: the position on each axis, or null for the best position.
const state = {capture: points.capture[0] || 0, along: 0, across: 0, down: 1, policy: 0,
               fixed: axes.map(() => null),
               a: figureOf(data.metric) || figures[0]};
state.c = state.a;

// Whether both show the same in different units, such as the extents of all files and the extents per file.
function sameCourse(one, other) {
  const pairs = one.values.map((value, i) => [value, other.values[i]])
      .filter((pair, i) => points.capture[i] === state.capture && pair[0] !== null && pair[1] !== null);
  const [a, b] = pairs.find((pair) => pair[0] !== 0) || [1, 1];
  return pairs.every(([x, y]) => Math.abs(x * b - y * a) <= 1e-3 * Math.abs(x * b));
}
// The second plot and the first one show different figures.
const seconds = ['files/avg_extents', 'steps_per_request'].map(figureOf).filter(Boolean);
state.b = [...seconds, ...figures].find((figure) => !sameCourse(state.a, figure)) || figures[1];

const better = (figure, one, other) => figure.higher ? one > other : one < other;

function settings(point) {
  return axes.map((axis, a) => points.at[a][point] < 0 ? '' :
      ` ${axis.name}=${axis.values[points.at[a][point]]}`).join('');
}
const pointTitle = (point, ...shown) => `point ${points.number[point]}, ` +
    `${policies[points.policy[point]]}${settings(point)}: ` +
    shown.map((figure) => `${figure.label} ${count(figure.values[point])}`).join(', ') +
    (onFront.has(points.number[point]) ? '; no other point beats it in steps and extents' : '');

// The points of the capture that have the fixed values. Points whose policy lacks a tunable are included.
function chosen(free) {
  const out = [];
  for (let i = 0; i < points.number.length; ++i)
    if (points.capture[i] === state.capture && state.fixed.every((place, a) =>
        place === null || free.includes(a) || points.at[a][i] < 0 || points.at[a][i] === place))
      out.push(i);
  return out;
}

// The best point for each key. Points without the figure are ignored.
function bestBy(list, figure, keyOf) {
  const best = new Map();
  for (const point of list) {
    if (figure.values[point] === null) continue;
    const at = keyOf(point), before = best.get(at);
    if (before === undefined || better(figure, figure.values[point], figure.values[before]))
      best.set(at, point);
  }
  return best;
}

// ---- A figure along one tunable: a line for each policy.

// The subject of a horizontal axis: a tunable, or the policies if there is no tunable.
const alongNames = () => axes.length === 0 ? policies : axes[state.along].values.map(String);
const alongOf = (point) => axes.length === 0 ? points.policy[point] : points.at[state.along][point];

function marker(x, y, point, figure, series) {
  const title = pointTitle(point, figure);
  const here = advised.has(points.number[point]);
  return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
      svg('title', {}, title),
      svg('circle', {class: 'hit', cx: x, cy: y, r: 9}),
      svg('circle', {cx: x, cy: y, r: here ? 6 : 3.5, fill: colourOf(series),
                     stroke: 'var(--ink)', 'stroke-width': here ? 2 : 0}));
}

function policyLine(policy, best, figure, x, scale, left, right) {
  const series = policy + 1, nodes = [];
  const mine = [...best.values()].filter((point) => points.policy[point] === policy);
  const dash = kDashes[policy % kDashes.length];
  const alone = mine.find((point) => alongOf(point) < 0);
  if (alone !== undefined) {
    const y = scale.at(figure.values[alone]);
    nodes.push(svg('line', {x1: left, x2: right, y1: y, y2: y, stroke: colourOf(series),
                            'stroke-width': 1.5, 'stroke-dasharray': '1 4'}),
               marker((left + right) / 2, y, alone, figure, series));
  }
  const along = mine.filter((point) => alongOf(point) >= 0)
      .sort((one, other) => alongOf(one) - alongOf(other));
  if (axes.length > 0 && along.length > 1) {
    const path = along.map((point, i) => `${i === 0 ? 'M' : 'L'}${x(alongOf(point)).toFixed(1)} ` +
        `${scale.at(figure.values[point]).toFixed(1)}`).join('');
    nodes.push(svg('path', {d: path, fill: 'none', stroke: colourOf(series), 'stroke-width': 2,
                            'stroke-dasharray': dash, 'stroke-linejoin': 'round'}));
  }
  for (const point of along.length > 60 ? along.filter((one) => advised.has(points.number[one])) : along)
    nodes.push(marker(x(alongOf(point)), scale.at(figure.values[point]), point, figure, series));
  return nodes;
}

// Every n-th name, so that names do not overlap.
function tickNames(names, x, y, room) {
  const each = Math.max(1, Math.ceil(names.length * (8 + 7 * Math.max(...names.map((n) => n.length))) / room));
  return names.map((name, i) => i % each === 0 ? text(x(i), y, 'middle', name) : null);
}

function lines(which) {
  return (width) => {
    const figure = state[which], height = 290, left = 70, right = width - 16, base = height - 46;
    const list = chosen(axes.length === 0 ? [] : [state.along]);
    const best = bestBy(list, figure, (point) => `${points.policy[point]} ${alongOf(point)}`);
    const values = [...best.values()].map((point) => figure.values[point]);
    if (values.length === 0) return [html('p', {class: 'note'}, 'No point has this figure.')];
    const scale = scaleFor(values, base, kTop + 4), names = alongNames();
    const x = (i) => left + 14 + (names.length < 2 ? 0.5 : i / (names.length - 1)) * (right - left - 28);
    const nodes = policies.flatMap((_, policy) =>
        policyLine(policy, best, figure, x, scale, left, right));
    return [legend(policies.map((name, i) => key(name, colourOf(i + 1)))),
            frame(width, height, `${figure.label} along ${axes.length ? axes[state.along].name : 'policies'}`,
                yTitle(figure.label, scale), ...yAxis(scale, left, right), ...tickNames(names, x, base + 18, right - left), ...nodes,
                xTitle((left + right) / 2, height - 6,
                    `${axes.length ? axes[state.along].name : 'policy'} · ` +
                    `${figure.higher ? 'higher' : 'lower'} is better`))];
  };
}

// ---- A figure over two tunables: darker is better.

function heatCell(point, figure, share, x, y, wide, high) {
  const title = pointTitle(point, figure);
  const here = advised.has(points.number[point]);
  const value = count(figure.values[point]);
  return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
      svg('title', {}, title),
      svg('rect', {x, y, width: Math.max(wide - 1, 1), height: Math.max(high - 1, 1), fill: viridis(share),
                   stroke: here ? 'var(--mark)' : 'none', 'stroke-width': 3}),
      wide > 8 + 7 * value.length && high > 15 ? svg('text', {class: 'on', x: x + wide / 2, y: y + high / 2 + 4,
          'text-anchor': 'middle', style: `fill:${share > 0.55 ? '#000' : '#fff'}`}, value) : null);
}

function heatMap(width) {
  const figure = state.c, across = axes[state.across], down = axes[state.down];
  if (state.across === state.down) return [html('p', {class: 'note'}, 'Choose two different tunables.')];
  const list = chosen([state.across, state.down]).filter((point) =>
      points.policy[point] === state.policy && points.at[state.across][point] >= 0 &&
      points.at[state.down][point] >= 0);
  const best = bestBy(list, figure,
      (point) => points.at[state.across][point] * down.values.length + points.at[state.down][point]);
  if (best.size === 0)
    return [html('p', {class: 'note'}, `${policies[state.policy]} has no points over these two.`)];
  const values = [...best.values()].map((point) => figure.values[point]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const far = least > 0 && most / least > 30;
  const share = (value) => {
    const at = most === least ? 0 :
        far ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    return figure.higher ? 1 - at : at;
  };
  const left = 70, top = 8, wide = Math.min((width - left) / across.values.length, 110);
  const high = Math.max(Math.min(360 / down.values.length, 40), 4);
  const cells = [...best].map(([at, point]) => {
    const column = Math.floor(at / down.values.length), row = at % down.values.length;
    return heatCell(point, figure, share(figure.values[point]), left + column * wide, top + row * high,
                    wide, high);
  });
  const foot = top + high * down.values.length;
  const rows = Math.max(1, Math.ceil(15 / high));
  return [frame(width, foot + 24, `${figure.label} over ${across.name} and ${down.name}`, ...cells,
      ...tickNames(across.values.map(String), (i) => left + (i + 0.5) * wide, foot + 16,
                   wide * across.values.length),
      ...down.values.map((value, i) => i % rows === 0 ?
          text(left - 6, top + (i + 0.5) * high + 4, 'end', String(value)) : null)),
      html('p', {class: 'note'}, `Across ${across.name}, down ${down.name} · ` +
          (least === most ? 'the same everywhere' :
           `${count(figure.higher ? most : least)} (dark, best) to ` +
           `${count(figure.higher ? least : most)} (bright)`))];
}

// ---- Cost against fragmentation. Points are dots, in one path for each policy; points on the front are markers.

function frontLine(front, x, y) {
  return front.map((point, i) => {
    const at = `${x(point).toFixed(1)} ${y(point).toFixed(1)}`;
    return i === 0 ? `M${at}` : `H${x(point).toFixed(1)}V${y(point).toFixed(1)}`;
  }).join('');
}

function pareto(width) {
  const cost = figureOf('cost'), pieces = figureOf('files/extents') || figureOf('steps_per_request');
  const list = chosen([]).filter((point) =>
      cost.values[point] !== null && pieces.values[point] !== null);
  if (list.length === 0) return [html('p', {class: 'note'}, 'No point has these figures.')];
  const height = 360, left = 70, right = width - 16, base = height - 46;
  const across = scaleFor(list.map((point) => cost.values[point]), left + 10, right - 10);
  const up = scaleFor(list.map((point) => pieces.values[point]), base - 6, kTop + 4);
  const x = (point) => across.at(cost.values[point]), y = (point) => up.at(pieces.values[point]);
  const dots = policies.map((_, policy) => svg('path', {
    d: list.filter((point) => points.policy[point] === policy)
        .map((point) => `M${x(point).toFixed(1)} ${y(point).toFixed(1)}h0`).join(''),
    stroke: colourOf(policy + 1), 'stroke-width': 7, 'stroke-linecap': 'round', opacity: 0.55,
    fill: 'none'}));
  const front = list.filter((point) => onFront.has(points.number[point]))
      .sort((one, other) => cost.values[one] - cost.values[other]);
  const marks = front.map((point) => marker(x(point), y(point), point, pieces, seriesOf(point)));
  const each = Math.max(1, Math.ceil(across.ticks.length * 70 / (right - left)));
  return [legend(policies.map((name, i) => key(name, colourOf(i + 1)))),
          frame(width, height, 'Cost of searches against pieces of files',
      yTitle(pieces.label, up), ...yAxis(up, left, right),
      ...across.ticks.map((tick, i) => i % each === 0 ?
          text(across.at(tick), base + 18, i + 1 === across.ticks.length ? 'end' : 'middle',
               (across.text || count)(tick)) : null),
      ...dots, svg('path', {d: frontLine(front, x, y), fill: 'none', stroke: 'var(--ink)',
                            'stroke-width': 1, 'stroke-dasharray': '4 3'}),
      ...marks, xTitle((left + right) / 2, height - 6, cost.label, across))];
}

// ---- The selection.

function redraw() {
  for (const draw of plots) draw();
}

function fill(id, names, value, change) {
  const select = byId(id);
  if (select === null) return;
  select.replaceChildren(...names.map((name, i) => html('option', {value: i}, name)));
  select.value = value;
  select.parentNode.hidden = names.length < 2;
  select.addEventListener('change', () => { change(Number(select.value)); redraw(); });
}

function fillFixed() {
  axes.forEach((axis, a) => {
    const select = html('select', {id: `fixed-${a}`});
    byId('fixed').append(html('label', {title: axis.meaning}, `${axis.name} `, select), ' ');
    fill(`fixed-${a}`, ['best', ...axis.values.map(String)], 0,
         (value) => { state.fixed[a] = value === 0 ? null : value - 1; });
  });
}

const labels = figures.map((figure) => figure.label);
const names = axes.map((axis) => axis.name);
fill('capture', captures, state.capture, (value) => { state.capture = value; });
fill('along', names, 0, (value) => { state.along = value; });
for (const which of ['a', 'b', 'c'])
  fill(`figure-${which}`, labels, figures.indexOf(state[which]),
       (value) => { state[which] = figures[value]; });
fill('across', names, state.across, (value) => { state.across = value; });
fill('down', names, state.down, (value) => { state.down = value; });
// The map shows the policy with most of the tunables. If several have as many, it shows the recommended one.
const reach = policies.map((_, policy) => {
  const point = points.policy.indexOf(policy);
  return point < 0 ? 0 : axes.filter((axis, a) => points.at[a][point] >= 0).length;
});
const recommended = points.policy[points.number.indexOf(data.advised[0])];
state.policy = reach[recommended] === Math.max(...reach) ? recommended : reach.indexOf(Math.max(...reach));
fill('policy', policies, state.policy, (value) => { state.policy = value; });
if (axes.length > 1) fillFixed();
plot('line-a', lines('a'));
plot('line-b', lines('b'));
plot('heat', heatMap);
plot('pareto', pareto);
