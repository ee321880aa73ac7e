# quickstart installs only what is missing, says what it does, is quick to repeat and fails in sentences.
# SPDX-License-Identifier: Apache-2.0
#
# It runs in a toy tree with stand-ins for apt, sudo, configure and the program, so nothing is installed.
. "$top_srcdir/tests/tap.sh"
toy=$tap_dir/toy
mkdir -p "$toy/src/console" "$toy/tests" "$tap_dir/bin" "$tap_dir/elsewhere"
cp "$top_srcdir/quickstart" "$toy/" && cp "$top_srcdir/tests/totals.sh" "$toy/tests/" || exit 99
chmod -R u+w "$toy"
unset QUICKSTART_BUILD QUICKSTART_CONFIGURE
PATH=$tap_dir/bin:$PATH
export TOY="$tap_dir"

stand_in() # NAME, body on standard input
{
    { echo '#!/bin/sh'; cat; } > "$1"
    chmod +x "$1"
}
stand_in "$tap_dir/bin/dpkg-query" <<'END'
for name; do :; done
if grep -qx "$name" "$TOY/not-installed"; then exit 1; fi
printf 'install ok installed'
END
stand_in "$tap_dir/bin/apt-get" <<'END'
echo "$*" >> "$TOY/apt.log"
[ ! -e "$TOY/apt-fails" ] || { echo "E: Unable to locate package"; exit 100; }
case $* in *install*) : > "$TOY/not-installed" ;; esac
END
stand_in "$tap_dir/bin/id" <<'END'
cat "$TOY/user"
END
stand_in "$tap_dir/bin/sudo" <<'END'
exit 1
END
stand_in "$toy/configure" <<'END'
echo "$*" >> "$TOY/configure.log"
echo 'S["CMOCKA_LIBS"]="-lcmocka"' > config.status
cat > Makefile <<'MAKE'
all: longleaf
longleaf:
	@[ ! -e "$$TOY/compiler-fails" ] || { echo "x.c:1: error: it does not compile"; exit 1; }
	@printf '#!/bin/sh\necho "program: $$(pwd):" "$$@"\n' > longleaf; chmod +x longleaf
check: all
	@mkdir -p tests/base; echo '# TOTAL' > test-suite.log
	@printf ':test-result: PASS\n:test-result: SKIP\n' > tests/base/t.trs
	@printf 'PASS: tests/base/t 1 - it works\nSKIP: tests/base/t 2 - it flies # SKIP no wings\n' > tests/base/t.log
	@[ ! -e "$$TOY/a-test-fails" ] || { echo ':test-result: FAIL' >> tests/base/t.trs; \
	    echo 'FAIL: tests/base/t 3 - it swims' >> tests/base/t.log; exit 1; }
MAKE
END
stand_in "$toy/src/console/fetch-model.sh" <<'END'
echo "$TOY/model.gguf"
END

expect() # STATUS FRAGMENT NAME ARGUMENT…
{
    wanted=$1 fragment=$2 name=$3
    shift 3
    (cd "$tap_dir/elsewhere" && "$toy/quickstart" "$@") > "$tap_dir/out" 2> "$tap_dir/err" < /dev/null
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -- "$fragment" "$tap_dir/out" "$tap_dir/err"
    result=$?
    [ $result -eq 0 ] || { echo "status $status, wanted $wanted and: $fragment"; cat "$tap_dir/out" "$tap_dir/err"; } > "$tap_note"
    tap_case $result "$name"
}

echo 0 > "$tap_dir/user"
: > "$tap_dir/not-installed"
echo text > "$tap_dir/elsewhere/my file.txt"

expect 2 usage "a wrong option is a wrong use" --nonsense
expect 2 usage "check takes long and nothing else" check everything
expect 6 'nothing was done' "a file that cannot be read stops it before anything is done" "no such file"
[ ! -e "$toy/build" ]
tap_case $? "and indeed nothing was done"

printf 'libedit-dev\nunzip\n' > "$tap_dir/not-installed"
echo 1000 > "$tap_dir/user"
expect 1 'apt-get install libedit-dev unzip' "without root and sudo it says what an administrator must run"
[ ! -e "$tap_dir/apt.log" ]
tap_case $? "and does not try to install"
echo 0 > "$tap_dir/user"
: > "$tap_dir/apt-fails"
expect 1 'Unable to locate package' "when apt fails the end of its output is shown"
rm -f "$tap_dir/apt-fails" "$tap_dir/apt.log"

expect 0 'installing with apt: libedit-dev unzip' "missing packages are named before they are installed" 'my file.txt'
grep -q 'install -y --no-install-recommends libedit-dev unzip$' "$tap_dir/apt.log"
tap_case $? "and only the missing ones are installed"
grep -qF "program: $tap_dir/elsewhere: sum my file.txt" "$tap_dir/out"
tap_case $? "files are summarised from the folder it was called in, blanks in names included"
[ "$(cat "$tap_dir/out" | wc -l)" -eq 1 ]
tap_case $? "standard output carries only the answer"
rm -f "$tap_dir/apt.log" "$tap_dir/configure.log"
expect 0 'packages: all there' "a second run finds everything in place"
[ ! -e "$tap_dir/apt.log" ] && [ ! -e "$tap_dir/configure.log" ]
tap_case $? "and neither installs nor configures again"
grep -q 'program: .*: chat$' "$tap_dir/out"
tap_case $? "without a file the REPL is started"

expect 0 'skipped: base/t: it flies: no wings' "check names skipped tests and why" check
[ "$(tail -n 1 "$tap_dir/out")" = '1 passed, 0 failed, 1 skipped' ]
tap_case $? "check ends with the totals"
: > "$tap_dir/a-test-fails"
expect 1 'FAILED:  base/t: it swims' "check names failed tests and fails" check
[ "$(tail -n 1 "$tap_dir/out")" = '1 passed, 1 failed, 1 skipped' ]
tap_case $? "and its totals count them"
rm -rf "$tap_dir/a-test-fails" "$toy/build"
: > "$tap_dir/compiler-fails"
expect 1 'it does not compile' "when the compiler fails its last lines are shown and the log is named"
grep -qF "$toy/build/quickstart.log" "$tap_dir/err"
tap_case $? "with the log's name"
tap_done
