# Runs a command once for each call that can fail and judges how it ends; sourced after tests/tap.sh.
# SPDX-License-Identifier: Apache-2.0
#
#   faults_try KIND MOST "STATUS…" NAME COMMAND…
#
# One TAP case: COMMAND is run with its 1st, 2nd, 3rd … call of KIND (malloc read write mmap open fsync
# rename) failing, at most MOST points spread evenly over all its calls. Each run must end with one of the
# statuses listed; a signal, a hang of 60 s or another status fails the case. When $faults_check is set, it
# is run after each, with the status as its argument, and must succeed ("no file was left behind").
# $faults_points holds the number of points tried. COMMAND may be a libtool wrapper script.

faults_library=$top_builddir/tests/faults/.libs/inject.so
if [ ! -e "$faults_library" ]; then
    tap_skip_all "the fault injector was not built"
elif [ -n "${ll_sanitizers:-}" ]; then
    tap_skip_all "sanitizers bring their own allocator"
fi

# A libtool wrapper is a shell script: the program behind it is run, so that no fault hits the shell.
faults_run() # FAULT COMMAND…
{
    fault=$1
    program=$2
    shift 2
    behind=$(dirname "$program")/.libs/$(basename "$program")
    [ ! -x "$behind" ] || program=$behind
    timeout 60 env LD_LIBRARY_PATH="$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        LD_PRELOAD="$faults_library" LL_FAULT="$fault" LL_FAULT_COUNT="$tap_dir/.calls" "$program" "$@" \
        > "$tap_dir/.out" 2> "$tap_dir/.err" < /dev/null
}

faults_try()
{
    kind=$1 most=$2 allowed=" $3 " name=$4
    shift 4
    : > "$tap_note"
    faults_points=0
    rm -f "$tap_dir/.calls"
    faults_run none "$@"
    status=$?
    total=$(awk -v kind="$kind" '$1 == kind { print $2 }' "$tap_dir/.calls" 2> /dev/null)
    if [ $status -ne 0 ] || [ "${total:-0}" -eq 0 ]; then
        echo "without a fault the command ended with $status and made ${total:-no} calls of $kind" > "$tap_note"
        cat "$tap_dir/.err" >> "$tap_note"
        tap_case 1 "$name"
        return
    fi
    [ -z "${faults_check:-}" ] || $faults_check 0 >> "$tap_note" 2>&1 || echo "$faults_check fails without a fault" >> "$tap_note"
    step=$(((total + most - 1) / most))
    at=1
    while [ $at -le "$total" ]; do
        faults_run "$kind:$at" "$@"
        status=$?
        faults_points=$((faults_points + 1))
        case $allowed in
        *" $status "*) ;;
        *)
            echo "$kind call $at of $total: ended with $status" >> "$tap_note"
            tail -n 2 "$tap_dir/.err" >> "$tap_note"
            ;;
        esac
        if [ -n "${faults_check:-}" ]; then
            $faults_check $status >> "$tap_note" 2>&1 || echo "$kind call $at of $total: $faults_check fails" >> "$tap_note"
        fi
        at=$((at + step))
    done
    [ ! -s "$tap_note" ]
    tap_case $? "$name ($faults_points of $total calls)"
}
