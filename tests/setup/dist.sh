# Every file of the repository is in the distribution, but for those that serve the repository alone.
# SPDX-License-Identifier: Apache-2.0
. "$top_srcdir/tests/tap.sh"
[ -e "$top_srcdir/.git" ] || tap_skip_all "this is a distribution, not a repository"
command -v git > /dev/null || tap_skip_all "git is not installed"
git -C "$top_srcdir" -c safe.directory='*' ls-files > "$tap_dir/all" 2> /dev/null || tap_skip_all "git does not read this repository"

cd "$top_builddir" || exit 99
make distdir distdir="$tap_dir/dist" > "$tap_note" 2>&1
made=$?
[ $made -eq 0 ] || { tail -n 20 "$tap_note" > "$tap_dir/tail"; mv "$tap_dir/tail" "$tap_note"; }
tap_case $made "make distdir succeeds"

[ "$(wc -l < "$tap_dir/all")" -gt 50 ]
tap_case $? "the repository's files are found"
grep -vE '^(\.gitignore|\.gitattributes|jupyter_kernel/Makefile\.inc)$' "$tap_dir/all" | while read -r file; do
    # A file deleted in the work tree is not missed, a new one not expected before it is added.
    [ ! -f "$top_srcdir/$file" ] || [ -f "$tap_dir/dist/$file" ] || echo "$file"
done > "$tap_note"
[ ! -s "$tap_note" ]
tap_case $? "every file of the repository is distributed"
chmod -R u+w "$tap_dir/dist"
tap_done
