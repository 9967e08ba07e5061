#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prepares the mails of a series and checks them, but does not send them (kernel/docs/posting.md).
#
# Usage: mail.sh [--from "NAME <ADDRESS>"] [--signoff] [-v N] [--rfc] [--tree DIR] [-o DIR] SERIES
#        mail.sh --list
#   SERIES     one of kernel/series/mail, such as 7.3-dio-overwrite
#   --from     the person who posts; replaces the placeholder in the From header
#   --signoff  adds that person's Signed-off-by to each patch. Nobody else may use this option
#   -v, --rfc  are passed to git format-patch
#   --tree     a clone of the tree to post against, at the commit to post against. Default: the lab's tree,
#              whose base commit exists only there
#   -o         where to put the mails (default: $E4R_LAB/mail/SERIES)
#
# Applies the patches without fuzz, and runs checkpatch. Writes the mails, with a cover letter and the base commit, and
# a list of the recipients that get_maintainer.pl names. Runs git send-email --dry-run. Lines that begin with "[FILL IN"
# must be replaced before sending. The last lines of the output count them.
# shellcheck source=kernel/lab/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=kernel/lab/lib/series.sh
source "$lab_dir/lib/series.sh"
from=
format=()
target=
out=
name=
while [ $# -gt 0 ]; do
    case $1 in
    --from) [ $# -ge 2 ] || usage
        from=$2 && shift ;;
    --signoff) format+=(--signoff) ;;
    -v) [ $# -ge 2 ] || usage
        format+=("-v$2") && shift ;;
    --rfc) format+=(--rfc) ;;
    --tree) [ $# -ge 2 ] || usage
        target=$(cd "$2" && pwd) && shift ;;
    -o) [ $# -ge 2 ] || usage
        out=$2 && shift ;;
    --list) awk '!/^#/ { print $1 }' "$kernel_dir/series/mail" && exit ;;
    -*) usage ;;
    *) [ -z "$name" ] || usage
        name=$1 ;;
    esac
    shift
done
[ -n "$name" ] || usage
need git perl
[ -x "$(git --exec-path)/git-send-email" ] || die "no 'git send-email': install the package git-email"
perl -MMail::Address -e 1 2>/dev/null || die "git send-email needs Mail::Address: install the package libmailtools-perl"
read -r mailed after < <(awk -v name="$name" '$1 == name { print $2, $3 }' "$kernel_dir/series/mail") || true
[ -n "${mailed:-}" ] || die "no '$name' in kernel/series/mail: there are $("$0" --list | paste -sd' ')"
[ -n "$from" ] || [[ " ${format[*]} " != *" --signoff "* ]] || die "--signoff needs --from: it is a person's statement"
out=${out:-$E4R_LAB/mail/$name}
"$lab_dir/checkpatch.sh" "$name"
open_series "$name"

# of TOPICS: prints the patches of these topics, in the order of the series.
of() {
    local patch
    while read -r patch; do
        [[ ",$1," != *",${patch%%/*},"* ]] || echo "$patches_dir/$patch"
    done < <(patches)
}

# ---- The commits, from the lab's tree of the series or from a worktree of the clone.

work=$(mktemp -d)
trap '[ -z "$target" ] || git -C "$target" worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
who=("${from%% <*}" "${from##*<}")
identity=(-c user.name="${who[0]:-nobody}" -c user.email="$([ -z "$from" ] || echo "${who[1]%>}")")
mapfile -t before < <(of "$after")
mapfile -t series < <(of "$mailed")
[ ${#series[@]} -gt 0 ] || die "no patches of $mailed in $name"
if [ -n "$target" ]; then
    tree=$work/tree
    git -C "$target" worktree add -q --detach "$tree" HEAD
    first=$(git -C "$tree" rev-parse HEAD)
    for patch in "${before[@]}" "${series[@]}"; do
        git -C "$tree" "${identity[@]}" am -q --no-3way "$patch" >&2 || die "$patch does not apply to $target"
    done
else
    tree=$("$lab_dir/apply.sh" "$name")
    first=$(git -C "$tree" rev-parse base)
fi
begin=$(git -C "$tree" rev-parse "HEAD~${#series[@]}")
[ "$(git -C "$tree" rev-parse "$begin~${#before[@]}")" = "$first" ] ||
    die "$name has patches that are neither in $mailed nor in $after"

# ---- The mails.

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
if grep -q '^Subject: \[RFC' "${series[0]}"; then format+=(--rfc); fi
cover=()
[ ${#series[@]} = 1 ] || cover=(--cover-letter)
git -C "$tree" "${identity[@]}" format-patch -q "${cover[@]}" "${format[@]}" --base="$first" --stat=72 \
    --zero-commit -o "$out" "$begin..HEAD"
# The From header may be folded over several lines.
[ -z "$from" ] || for mail in "$out"/*.patch; do
    awk -v from="$from" '!body && /^From: / { print "From: " from; folded = 1; next }
        !body && folded && /^ / { next } { folded = 0 } /^$/ { body = 1 } { print }' "$mail" >"$work/mail"
    cat "$work/mail" >"$mail"
done
# A base commit is useful to recipients only if it is in a public tree.
if [ -z "$target" ]; then
    sed -i "s/^base-commit: .*/[FILL IN the base: use --tree. Made for $(git -C "$tree" log -1 --format=%s base)]/" \
        "$out"/*.patch
fi
origin='[FILL IN the origin: tools, input, tests (Documentation/process/generated-content.rst)]'
letter=
for topic in ${mailed//,/ }; do
    candidate=$patches_dir/$topic/$(base_of "$name")/0000-cover-letter.patch
    [ ! -e "$candidate" ] || letter=$candidate
done
if [ ${#cover[@]} -gt 0 ]; then
    [ -n "$letter" ] || die "$mailed has several patches and no cover letter"
    # The letter provides the subject, which may be folded, and the text. git format-patch provides the list of changed
    # files, because the list in the letter may be out of date.
    awk -v letter="$letter" -v origin="$origin" '
        BEGIN {
            while ((getline line < letter) > 0) {
                if (!head && line ~ /^Subject: /) { sub(/^Subject: \[[^]]*\] /, "", line); subject = line; more = 1 }
                else if (!head && more && line ~ /^ /) subject = subject line
                else if (line == "" && !head) head = 1
                else if (head && line ~ /^ [^ ].* [|] +[0-9]/) break
                else if (head) text = text line "\n"
                else more = 0
            }
            sub(/\n+$/, "", text)
        }
        /\*\*\* SUBJECT HERE \*\*\*/ { sub(/\*\*\* SUBJECT HERE \*\*\*/, ""); printf "%s%s\n", $0, subject; next }
        /\*\*\* BLURB HERE \*\*\*/ { print text "\n\n" origin; next }
        { print }' "$out"/*0000-cover-letter.patch >"$work/letter"
    [ -z "$from" ] || sed -i "s/^.* maintainers (\([0-9]*\)):\$/${from%% <*} (\1):/" "$work/letter"
    cat "$work/letter" >"$out/$(basename "$out"/*0000-cover-letter.patch)"
else
    sed -i "0,/^---\$/s|^---\$|---\n$origin\n|" "$out"/*.patch
fi
mapfile -t mails < <(printf '%s\n' "$out"/*.patch | sort)

# ---- The recipients, and a dry run of git send-email.

maintainers() {
    (cd "$tree" && perl scripts/get_maintainer.pl --no-git --no-git-fallback --no-fixes --no-rolestats --no-n \
        "$@" "${series[@]}")
}
maintainers --no-l --no-r >"$out/to"
maintainers --no-m >"$out/cc"
[ -s "$out/to" ] || die "get_maintainer.pl names nobody"
send=(git -C "$tree" "${identity[@]}" send-email --dry-run --confirm=never --suppress-cc=all --no-validate
    --smtp-server=/bin/false --from="${from:-nobody <nobody@localhost>}")
while read -r address; do send+=("--to=$address"); done <"$out/to"
while read -r address; do send+=("--cc=$address"); done <"$out/cc"
"${send[@]}" "${mails[@]}" >"$work/sent" 2>&1 || { cat "$work/sent" >&2 && die "git send-email refuses the mails"; }
count=$(grep -c '^Subject: ' "$work/sent")
[ "$count" = ${#mails[@]} ] || die "git send-email would send $count of ${#mails[@]} mails"

# ---- The steps that remain before sending.

long=$(awk 'FNR == 1 { body = 0 } /^$/ { body = 1 } /^(diff|---)/ { body = 0 }
    body && length > 75 && !/^(Fixes|Link|\[FILL IN|prerequisite-patch-id|\[ Upstream)/ && !/https?:/ {
        print FILENAME ": " $0 }' "${mails[@]}")
[ -z "$long" ] || { echo "$long" >&2 && die "lines are longer than 75 columns"; }
[ -n "$from" ] || note "From is a placeholder: use --from"
[[ " ${format[*]} " == *" --signoff "* ]] || note "no Signed-off-by: the person who posts adds it with --signoff"
note "to fill in: $(cat "${mails[@]}" | grep -c '^\[FILL IN') lines"
note "$count mails, to $(wc -l <"$out/to") maintainers, in copy to $(wc -l <"$out/cc") others and lists"
echo "$out"
