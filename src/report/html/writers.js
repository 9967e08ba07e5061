// SPDX-License-Identifier: GPL-2.0-or-later
// Many writers (`e4replay replay --writers`): a line for each policy over the number of writers.

// A line with marks that respond to hovering. `of`: returns the figure of an outcome. `words`: describes it.
function writersLine(outcomes, series, place, scale, of, words) {
  const points = outcomes.map((one) => [place(one.writers), scale.at(of(one))]);
  const path = points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
  return svg('g', {},
      svg('path', {d: path, stroke: colourOf(series), 'stroke-width': 2, fill: 'none',
                   'stroke-linejoin': 'round', 'stroke-dasharray': kDashes[(series - 1) % 4]}),
      ...outcomes.map((one, i) => {
        const title = `${policies[series - 1]}, ${count(one.writers)} writers: ${words(one)}`;
        const [cx, cy] = points[i];
        return svg('g', {class: 'item', tabindex: 0, role: 'img', 'aria-label': title},
            svg('title', {}, title), svg('circle', {cx, cy, r: 3.4, fill: colourOf(series)}),
            svg('circle', {class: 'hit', cx, cy, r: 9}));
      }));
}

function drawWriters(id, what, of, words) {
  const all = data.writers;
  const numbers = [...new Set(all.flatMap((run) => run.map((one) => one.writers)))].sort((a, b) => a - b);
  byId(id).append(legend(policies.map((name, s) => key(name, colourOf(s + 1)))));
  plot(id, (width) => {
    const height = 270, left = 62, base = height - 38, right = width - 12;
    const values = all.flatMap((run) => run.map(of));
    // On a log scale, a rate that grows in proportion to the writers is a straight line.
    const scale = Math.min(...values) > 0 ? logScale(Math.min(...values), Math.max(...values), base, kTop)
                                          : scaleFor(values, base, kTop);
    const low = Math.log2(numbers[0]), span = Math.log2(numbers[numbers.length - 1]) - low || 1;
    const place = (writers) => left + 8 + (Math.log2(writers) - low) / span * (right - left - 16);
    const marks = numbers.map((writers) => text(place(writers), base + 16, 'middle', count(writers)));
    return [frame(width, height, `${what} by the number of writers`, yTitle(what, scale),
        ...yAxis(scale, left, right),
        ...all.map((run, s) => writersLine(run, s + 1, place, scale, of, words)), ...marks,
        xTitle((left + right) / 2, base + 32, 'writers', {log: numbers.length > 1}))];
  });
}

const waitWords = (one) => `${count(one.waiting)} % of their time` +
    one.locks.map(({name, percent}) => `, ${name} ${count(percent)} %`).join('');
drawWriters('rates', 'requests per second', (one) => one.rate, (one) => `${count(one.rate)} requests per second`);
drawWriters('waits', 'waiting for locks, %', (one) => one.waiting, waitWords);
