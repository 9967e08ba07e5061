// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `e4replay verify`.
const {ways} = data;

// The share of identical decisions in each bucket, as a line of steps.
function shareLine(way, series, x, scale) {
  let path = '';
  way.requests.forEach((requests, i) => {
    if (requests === 0) return;
    const y = scale.at(100 * way.identical[i] / requests).toFixed(1);
    const from = x(i * way.width), to = x(Math.min((i + 1) * way.width, way.decisions));
    path += `${path === '' ? 'M' : 'L'}${from.toFixed(1)} ${y}H${to.toFixed(1)}`;
  });
  return svg('path', {d: path, fill: 'none', stroke: colourOf(series), 'stroke-width': 2,
                      'stroke-dasharray': kDashes[(series - 1) % kDashes.length]});
}

// The number of areas that respond to hovering. More are hard to reach with a finger or the tab key.
const kItems = 64;

// The area for the buckets [from, to), for all runs together.
function bucketItem(from, to, width, last, x, base) {
  const sum = (values) => values.slice(from, to).reduce((a, b) => a + b, 0);
  const shares = ways.map((way) =>
      `${way.name} ${count(sum(way.identical))} of ${count(sum(way.requests))}`);
  const end = Math.min(to * width, last);
  const title = `decisions ${count(from * width + 1)} to ${count(end)}: identical ${shares.join(', ')}`;
  return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
      svg('title', {}, title),
      svg('rect', {class: 'hit', x: x(from * width), width: Math.max(x(end) - x(from * width), 1),
                   y: kTop, height: base - kTop}));
}

byId('course').append(legend(ways.map((way, i) => key(way.name, colourOf(i + 1)))));
plot('course', (width) => {
  const height = 250, left = 54, right = width - 8, base = height - 38;
  const scale = {at: (share) => base + (kTop - base) * share / 100, ticks: [0, 25, 50, 75, 100],
                 text: (share) => `${share} %`};
  const whole = Math.max(1, ...ways.map((way) => way.decisions));
  const {place: x, nodes} = decisionAxis(whole, left, right, base);
  // All runs count the same decisions, so they have the same buckets.
  const buckets = ways.length === 0 ? 0 : ways[0].requests.length, items = [];
  const each = Math.max(1, Math.ceil(buckets / kItems));
  for (let i = 0; i < buckets; i += each)
    items.push(bucketItem(i, Math.min(i + each, buckets), ways[0].width, whole, x, base));
  return [frame(width, height, 'Share of identical decisions over the trace',
      yTitle('identical decisions', scale), ...yAxis(scale, left, right),
      ...ways.map((way, i) => shareLine(way, i + 1, x, scale)), ...items,
      ...nodes)];
});
