#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of `replay --html` in a headless Chromium: no error, every plot drawn, keys work, in time.
#   test/report/browser.sh E4REPLAY CAPTURES      exit status 77: there is no Chromium
set -euo pipefail
e4replay=$1 captures=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "no Chromium here" >&2
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Behind the page's own script: looks at what it has drawn and says so in an element.
cat >"$work/probe.html" <<'PROBE'
<pre id="verdict"></pre><script>
{
  const said = [...(window.errors || [])];
  const expect = (holds, what) => { if (!holds) said.push(what); };
  const drawn = (id, least) => {
    const shapes = [...document.querySelectorAll(`#${id} svg rect, #${id} svg path`)];
    const visible = shapes.filter((one) => {
      const box = one.getBBox();
      return box.width + box.height > 2 && getComputedStyle(one).fill !== 'transparent';
    });
    expect(visible.length >= least, `${id}: ${visible.length} shapes`);
  };
  drawn('criteria', 6); drawn('cost', 4); drawn('histogram', 6); drawn('files', 2);
  const maps = [...document.querySelectorAll('#maps canvas[tabindex]')];
  expect(maps.length === 4, `${maps.length} maps`);
  const colours = (canvas) => {
    const copy = document.createElement('canvas');
    copy.width = canvas.width;
    copy.height = canvas.height;
    const context = copy.getContext('2d', {willReadFrequently: true});
    context.drawImage(canvas, 0, 0);
    const pixels = context.getImageData(0, 0, copy.width, copy.height).data;
    const found = new Set();
    for (let i = 0; i < pixels.length; i += 4) found.add(pixels.slice(i, i + 3).join());
    return found.size;
  };
  maps.forEach((map, i) => expect(colours(map) > 2, `map ${i}: ${colours(map)} colours`));
  const readout = () => document.getElementById('cell').textContent;
  maps[0].focus();
  expect(readout().startsWith('group 0 '), `focused: ${readout()}`);
  maps[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', cancelable: true}));
  expect(readout().startsWith('group 1 '), `moved: ${readout()}`);
  const measure = document.getElementById('measure');
  measure.value = 'average';
  measure.dispatchEvent(new Event('change'));
  expect(document.querySelector('#maps .scale').textContent.includes('iB'), 'other measure');
  expect(document.documentElement.scrollWidth <= window.innerWidth, 'wider than the window');
  const boxes = [...document.querySelectorAll('.item[tabindex="0"]')];
  expect(boxes.every((one) => one.getAttribute('aria-label')), 'items without a name');
  expect(performance.now() < 3000, `took ${Math.round(performance.now())} ms`);
  document.getElementById('verdict').textContent = said.length === 0 ? 'all is well' : said.join('; ');
}
</script>
PROBE

# look CAPTURE PAGE WIDTH
look() {
    sed -e '0,/<head>/s//<head><script>window.errors = []; window.onerror = (what) => errors.push(what);<\/script>/' \
        "$2" >"$work/probed.html"
    cat "$work/probe.html" >>"$work/probed.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
        --window-size="$3,900" --enable-logging=stderr --dump-dom "file://$work/probed.html" \
        >"$work/dom" 2>"$work/log"
    if ! grep -q '<pre id="verdict">all is well</pre>' "$work/dom" || grep 'CONSOLE' "$work/log"; then
        echo "$1 at $3: $(grep -o '<pre id="verdict">[^<]*' "$work/dom")" >&2
        exit 1
    fi
    echo "$1 at $3: all is well"
}

cd "$captures"
for pair in posting-256g:posting-256g.e4t.zst churn-4k:churn-4k.trace.zst; do
    page=$work/${pair%:*}.html
    "$e4replay" replay "${pair%:*}.img" "${pair#*:}" -p legacy,cr1.5 --html "$page" >/dev/null
    [ "$(stat -c %s "$page")" -lt 2000000 ]
    if grep -Eq '(src|href)="?https?:|@import|url\(' "$page"; then
        echo "$page loads something" >&2
        exit 1
    fi
    for width in 1200 400; do look "${pair%:*}" "$page" $width; done
done
