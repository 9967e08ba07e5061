#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests the pages of `replay`, `sweep`, `verify` and `map` (--html) in a headless Chromium. No script may fail, every
# plot must be drawn, and keys, select elements and the slider must work.
#   test/report/browser.sh E4REPLAY CAPTURES      exit status 77: Chromium is not installed
set -euo pipefail
e4replay=$1 captures=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "no Chromium here" >&2
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# This script runs after the page's own scripts. It inspects the page and writes the result into an element.
cat >"$work/common.js" <<'COMMON'
const said = [...(window.errors || [])];
const expect = (holds, what) => { if (!holds) said.push(what); };
const byId = (id) => document.getElementById(id);
const drawn = (id, least) => {
  const shapes = [...document.querySelectorAll(`#${id} svg rect, #${id} svg path, #${id} svg circle`)];
  const visible = shapes.filter((one) => {
    const box = one.getBBox();
    const style = getComputedStyle(one);
    return box.width + box.height > 2 && style.fill !== 'rgba(0, 0, 0, 0)' && style.fill !== 'transparent';
  });
  expect(visible.length >= least, `${id}: ${visible.length} shapes`);
};
// The titles of a plot's axes.
const titled = (id, titles) => {
  const found = [...document.querySelectorAll(`#${id} text.title`)].map((one) => one.textContent);
  expect(JSON.stringify(found) === JSON.stringify(titles), `${id}: axes titled ${JSON.stringify(found)}`);
};
// No two texts of a row of headers, or of a plot, lie on each other.
const apart = (selector) => {
  const boxes = [...document.querySelectorAll(selector)].filter((one) => one.textContent !== '').map((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    return [one.textContent, range.getBoundingClientRect()];
  }).filter(([, box]) => box.width > 0);
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => expect(
      a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1,
      `${one} lies on ${other}`)));
};
const choose = (id, value, event = 'change') => {
  byId(id).value = value;
  byId(id).dispatchEvent(new Event(event));
};
const finish = () => {
  expect(`#${window.innerWidth}` === location.hash, `a window of ${window.innerWidth}`);
  const outside = [...document.querySelectorAll('main *')]
      .filter((one) => one.getBoundingClientRect().right > window.innerWidth && !one.closest('.wide, pre'));
  expect(document.documentElement.scrollWidth <= window.innerWidth,
         `wider than the window: ${outside.map((one) => `${one.tagName} ${one.textContent.slice(0, 20)}`)}`);
  // On a narrow screen, texts of many lines are broken and not cut.
  const cut = [...document.querySelectorAll('pre')].filter((one) => !one.closest('.wide pre, details:not([open])'))
      .filter((one) => one.scrollWidth > one.clientWidth);
  expect(window.innerWidth > 500 || cut.length === 0, `cut: ${cut.map((one) => one.textContent.slice(0, 30))}`);
  // Plots are drawn anew for paper, and for the window afterwards.
  const widths = () => JSON.stringify([...document.querySelectorAll('.plot svg[viewBox]:not(.sample)')]
      .map((one) => one.viewBox.baseVal.width));
  const before = widths();
  window.dispatchEvent(new Event('beforeprint'));
  expect(JSON.parse(widths()).every((one) => one <= 660), `drawn for paper: ${widths()}`);
  window.dispatchEvent(new Event('afterprint'));
  expect(widths() === before, `drawn ${widths()} after printing, ${before} before`);
  const nothings = [...document.querySelectorAll('main td, main dd, main text, main title')]
      .filter((one) => /^[-+−]0(\.0+)?( %)?$/.test(one.textContent));
  expect(nothings.length === 0, `a sign of nothing: ${nothings.map((one) => one.textContent)}`);
  for (const label of window.innerWidth < 1000 ? [] : document.querySelectorAll('.card dt'))
    expect(label.clientHeight < 30, `${label.textContent}: on more than one line`);
  const boxes = [...document.querySelectorAll('.item[tabindex="0"]')];
  expect((boxes.length > 0 || document.querySelector('.space')) && boxes.every((one) => one.getAttribute('aria-label')), 'items without a name');
  const verdict = document.createElement('pre');
  verdict.id = 'verdict';
  verdict.textContent = said.length === 0 ? 'all is well' : said.join('; ');
  document.body.append(verdict);
};
COMMON

cat >"$work/replay.js" <<'PROBE'
drawn('criteria', 6); drawn('cost', 0); drawn('histogram', 6); drawn('files', 2);
expect(document.querySelectorAll('#cost svg path').length >= 4, 'no lines of cost');
titled('cost', ['steps per request, log scale', 'decision']);
titled('histogram', ['free extents, log scale', 'size of a free extent, from']);
expect(document.querySelectorAll('#files text.title').length === 2, 'files: axes without titles');
document.querySelectorAll('details').forEach((one) => { one.open = true; });
document.querySelectorAll('table thead').forEach((one, i) => {
  one.id = `head-${i}`;
  apart(`#head-${i} th`);
});
apart('#criteria text');
// Bars as long as what they show, on one scale for groups and extents.
const written = JSON.parse(byId('data').textContent), policies = written.policies.length;
const ends = policies + (written.recorded ? 1 : 0);
expect(written.recorded, 'the recorded kernel is not shown');
const bars = [...document.querySelectorAll('#criteria svg > g')].map((one) => {
  const rects = [...one.querySelectorAll('rect:not(.hit)')];
  return rects.reduce((all, rect) => all + Number(rect.getAttribute('width')), 0);
});
const sums = (all) => all.filter((values) => values !== null).map((values) => values.reduce((a, b) => a + b, 0));
const totals = sums([...written.criteria.hits, ...written.criteria.groups, ...written.criteria.extents]);
expect(bars.length === totals.length, `${bars.length} bars`);
const unknown = [...document.querySelectorAll('#criteria text')].filter((one) => one.textContent === 'not recorded by criterion');
expect(unknown.length === 3 * ends - bars.length, `${unknown.length} bars not recorded`);
const longest = (from, to) => totals.slice(from, to).indexOf(Math.max(...totals.slice(from, to))) + from;
totals.forEach((total, i) => {
  const first = i < ends ? longest(0, ends) : longest(ends, totals.length);
  expect(Math.abs(bars[i] - Math.max(bars[first] * total / totals[first], 1)) < 0.5,
         `bar ${i}: ${bars[i]} for ${total}, where ${bars[first]} is ${totals[first]}`);
});
const maps = [...document.querySelectorAll('#maps canvas[tabindex]')];
const differences = policies < 2 ? 1 : policies - 1;
expect(maps.length === 1 + ends + differences, `${maps.length} maps`);
const mapTitles = [...document.querySelectorAll('#maps h4')].slice(-differences).map((one) => one.textContent);
for (const other of written.policies.slice(1))
  expect(mapTitles.includes(`${other} minus ${written.policies[0]}`), `no map of ${other}: ${mapTitles}`);
const pixels = (canvas) => {
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  return context.getImageData(0, 0, copy.width, copy.height).data;
};
const colours = (canvas) => {
  const found = new Set(), all = pixels(canvas);
  for (let i = 0; i < all.length; i += 4) found.add(all.slice(i, i + 3).join());
  return found.size;
};
maps.forEach((map, i) => expect(colours(map) > 2, `map ${i}: ${colours(map)} colours`));
// Through time: at the start the maps are alike and nothing differs; at the end they are as before.
const same = (one, other) => one.length === other.length && one.every((value, i) => value === other[i]);
const end = maps.map(pixels), last = Number(byId('time').max);
expect(last >= 30, `${last} steps of time`);
choose('time', 0, 'input');
expect(same(pixels(maps[0]), pixels(maps[1])), 'the first frame is not the start');
expect(byId('when').textContent === 'the start', `when: ${byId('when').textContent}`);
choose('time', last >> 1, 'input');
expect(/^decision [0-9,]+$/.test(byId('when').textContent), `when: ${byId('when').textContent}`);
expect(!same(pixels(maps[1]), end[1]) && !same(pixels(maps[1]), pixels(maps[0])), 'half-way is start or end');
choose('time', last, 'input');
maps.forEach((map, i) => expect(same(pixels(map), end[i]), `map ${i}: the end is another`));
const readout = () => byId('cell').textContent;
maps[0].focus();
expect(readout().startsWith('group 0 '), `focused: ${readout()}`);
maps[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', cancelable: true}));
expect(readout().startsWith('group 1 '), `moved: ${readout()}`);
choose('measure', 'average');
expect(document.querySelector('#maps .scale').textContent.includes('iB'), 'other measure');
finish();
PROBE

cat >"$work/sweep.js" <<'PROBE'
expect(document.querySelectorAll('#pareto text.title').length === 2, 'pareto: axes without titles');
// What both plots show by default differs by more than a factor.
const plotted = ['a', 'b'].map((one) => JSON.parse(byId('data').textContent).figures[byId(`figure-${one}`).value]);
const ratios = plotted[0].values.map((value, i) => value / plotted[1].values[i]);
expect(Math.max(...ratios) > 1.01 * Math.min(...ratios), `${plotted.map((one) => one.key)} are one thing`);
drawn('line-a', 6); drawn('line-b', 6); drawn('heat', 12); drawn('pareto', 2);
const marked = document.querySelectorAll('#heat rect[stroke-width="3"]:not([stroke="none"])').length;
expect(marked === 1, `${marked} cells marked as advised`);
const shown = (id) => byId(id).textContent;
for (const [select, plot, value] of [['along', 'line-a', 1], ['figure-a', 'line-a', 2], ['figure-b', 'line-b', 0],
                                     ['figure-c', 'heat', 1], ['fixed-0', 'pareto', 1]]) {
  const before = byId(plot).innerHTML;
  choose(select, value);
  expect(byId(plot).innerHTML !== before, `${select} changes nothing`);
}
choose('across', 1);
expect(shown('heat').includes('two different'), 'one tunable twice');
choose('down', 0);
drawn('heat', 12);
choose('policy', 0);
expect(shown('heat').includes('no points over these two'), 'a policy without the tunable');
drawn('line-a', 3);
finish();
PROBE

cat >"$work/verify.js" <<'PROBE'
expect(document.querySelectorAll('#course svg path').length === 2, 'a line for each way');
const spans = [...document.querySelectorAll('#course svg path')].map((one) => one.getBBox());
expect(spans.every((box) => box.width > 100 && box.height > 50), 'lines without a course');
expect(document.querySelectorAll('table.parted tbody tr').length === 20, 'decisions that differ');
const keyed = [...document.querySelectorAll('dl.fields dt')].map((one) => one.textContent);
const fields = document.querySelector('table.parted code').textContent.match(/\b[a-z]{3,}\b/g);
expect(fields.length > 5 && fields.every((field) => field === 'of' || keyed.some((one) => one.includes(field))),
       `fields ${fields} and a key of ${keyed}`);
titled('course', ['identical decisions', 'decision']);
finish();
PROBE

cat >"$work/map.js" <<'PROBE'
const squares = [...document.querySelectorAll('.space svg')].map((one) => [...one.querySelectorAll('rect')]);
expect(squares.length === 2 && squares.every((all) => all.length === 64 * 16), `${squares.map((all) => all.length)} squares`);
const inside = (one) => one.getBoundingClientRect().right <= window.innerWidth && one.getBoundingClientRect().width >= 3;
expect(squares.flat().every(inside), 'squares that nobody sees');
expect(document.querySelectorAll('.ramp').length === 2, 'keys');
expect([...document.querySelectorAll('.ramp span')].every((one) => one.offsetWidth > 50 && inside(one)), 'keys without colours');
apart('.places span');
finish();
PROBE

# look NAME PAGE PROBE WIDTH: loads the page at this width and runs the script PROBE in it.
look() {
    sed -e '0,/<head>/s//<head><script>window.errors = []; window.onerror = (what) => errors.push(what);<\/script>/' \
        "$2" >"$work/probed.html"
    { echo '<script>{' && cat "$work/common.js" "$work/$3.js" && echo '}</script>'; } >>"$work/probed.html"
    # Put the page into a frame, because a window cannot be narrower than some minimum.
    printf '<body><iframe id="frame" src="probed.html#%d" style="width:%dpx;height:900px;border:0"></iframe><script>
        document.getElementById("frame").onload = (event) =>
            document.body.append(event.target.contentDocument.getElementById("verdict"));
        </script></body>' "$4" "$4" >"$work/framed.html"
    timeout 300 "$browser" --headless --allow-file-access-from-files --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
        --window-size=1300,1000 --enable-logging=stderr --dump-dom "file://$work/framed.html" \
        >"$work/dom" 2>"$work/log"
    if ! grep -q '<pre id="verdict">all is well</pre>' "$work/dom" || grep 'CONSOLE' "$work/log"; then
        echo "$1 at $4: $(grep -o '<pre id="verdict">[^<]*' "$work/dom")" >&2
        exit 1
    fi
    echo "$1 at $4: all is well"
}

# page NAME PAGE PROBE: checks the page, and runs PROBE at several widths.
page() {
    [ "$(stat -c %s "$2")" -lt 2000000 ]
    if grep -Eq '(src|href)="?https?:|@import|url\(' "$2"; then
        echo "$2 loads something" >&2
        exit 1
    fi
    for width in 1200 400; do look "$1" "$2" "$3" $width; done
}

cd "$captures"
for run in posting-256g:posting-256g.e4t.zst:legacy,cr1.5,linux-7.3 churn-4k:churn-4k.trace.zst:legacy,cr1.5; do
    IFS=: read -r image trace policies <<<"$run"
    "$e4replay" replay "$image.img" "$trace" -p "$policies" --html "$work/page.html" >/dev/null
    page "$image, $policies" "$work/page.html" replay
done
"$e4replay" sweep smallfiles-256g.img:smallfiles-256g.e4t.zst -p legacy,cr1.5 \
    --set mb_cr1_5_max_trim_order=3..6 --set mb_max_to_scan=20,100,200 --best files/extents --html "$work/page.html" >/dev/null
page sweep "$work/page.html" sweep
"$e4replay" verify churn-4k.img churn-4k.trace.zst -p cr1.5 --html "$work/page.html" >/dev/null || [ $? = 3 ]
page verify "$work/page.html" verify
"$e4replay" map churn-4k.img --html "$work/page.html" >/dev/null
page map "$work/page.html" map
