#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that the shell accepts the completion script of each program in TOOLS, and completes correctly.
#   completion_test.sh fish|zsh TOOLS
# Skipped (77) if that shell is not installed. test/golden/completion-bash tests bash.
set -euo pipefail
shell=$1 tools=$2
command -v "$shell" >/dev/null || { echo "no $shell here" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work LC_ALL=C.UTF-8 TERM=dumb
unset XDG_CONFIG_HOME XDG_DATA_HOME

fail() {
    echo "completion_test: $shell: $*" >&2
    exit 1
}

# offers LINE WORD...: fails unless Tab at the end of LINE offers exactly these words.
offers() {
    local got wanted
    wanted=$(printf '%s\n' "${@:2}" | sort)
    got=$("offers_$shell" "$1" | sort)
    [ "$got" = "$wanted" ] || fail "'$1' offers: ${got//$'\n'/ }"
}

offers_fish() {
    (cd "$work" && fish --no-config -c "
        for file in *.fish; source \$file; end
        complete -C '$1'") | cut -f 1
}

# Makes an interactive zsh complete the line and run it. A shell function replaces the program and prints its arguments.
offers_zsh() {
    (cd "$work" && zsh -f "$work/press_tab" "$1")
}
cat >"$work/press_tab" <<'TEXT'
zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell "PROMPT= RPROMPT= fpath=($PWD \$fpath) && autoload -Uz compinit && compinit -D -u"
zpty -w shell "unsetopt zle_bracketed_paste 2>/dev/null; zle_highlight=(none); LISTMAX=10000"
for tool in e4replay mke2fs-lazy tune2fs-lazy; do
    zpty -w shell "function $tool { print -r -- '<<''<'\"\$*\"'>>''>' }"
done
zpty -w shell "print -r -- rea''dy"
zpty -r -m shell ignored '*ready*'
zpty -w -n shell $1$'\t'
sleep 1
zpty -w -n shell $'\n'
zpty -r -m shell out '*<<<*>>>*' && print -r -- ${${out##*<<<}%%>>>*}
TEXT

for tool in e4replay mke2fs-lazy tune2fs-lazy; do
    case $shell in
    fish) file=$tool.fish ;;
    zsh) file=_$tool ;;
    esac
    "$tools/$tool" --completion "$shell" >"$work/$file"
    "$shell" -n "$work/$file" || fail "$file is not understood"
done
touch "$work/disk.img"

if [ "$shell" = fish ]; then
    offers 'e4replay trace ' info convert cut
    offers 'e4replay replay --hi' --histogram
    offers 'e4replay replay disk.img -p cr1.5,leg' cr1.5,legacy
    offers 'e4replay verify disk.img -p linux-7.3-' linux-7.3-group-goal
    offers 'e4replay replay --set mb_str' mb_stream_req= mb_stripe=
    offers 'e4replay replay --json d' disk.img
    offers 'e4replay replay d' disk.img
    offers 'e4replay record --clock ' boot mono mono_raw
    # Gets the rows that can rank a sweep from sweep's own error message.
    mapfile -t rows < <("$tools/e4replay" sweep none --best none 2>&1 | grep -oE '\bfiles/[a-z0-9_]+')
    [ ${#rows[@]} -ge 4 ] || fail "no rows of files"
    offers 'e4replay sweep --best files/' "${rows[@]}"
    offers 'tune2fs-lazy enable --feature ' metadata_csum uninit_bg
    offers 'tune2fs-lazy verify --fix=' --fix=clear --fix=zero
    offers 'tune2fs-lazy verify d' disk.img
    offers 'mke2fs-lazy -E nodiscard,itable_init=p' nodiscard,itable_init=p{robe,rezeroed}
else
    offers 'e4replay repl' replay
    offers 'e4replay trace conv' 'trace convert'
    offers 'e4replay replay --hi' 'replay --histogram'
    offers 'e4replay replay disk.img -p cr1.5,leg' 'replay disk.img -p cr1.5,legacy'
    offers 'e4replay verify disk.img --policy=line' 'verify disk.img --policy=linear'
    offers 'e4replay replay --set mb_stri' 'replay --set mb_stripe='
    offers 'e4replay replay d' 'replay disk.img'
    offers 'e4replay sweep --best files/ext' 'sweep --best files/extents'
    offers 'e4replay trace info --json d' 'trace info --json disk.img'
    offers 'tune2fs-lazy verify --fix=z' 'verify --fix=zero'
    offers 'mke2fs-lazy -E nodiscard,itable_init=pro' '-E nodiscard,itable_init=probe'
fi
