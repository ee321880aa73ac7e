# Runs a unit test program and turns the skips that cmocka writes into skips as TAP means them.
# SPDX-License-Identifier: Apache-2.0
#
# usage: unit.sh COMMAND…   cmocka writes "not ok 3 # SKIP name", which a TAP reader counts as a failure. Here
# it becomes "ok 3 - name # SKIP reason", the reason being the comment line that the test printed before.
exec 4>&1
status=$({ { "$@" 4>&-; echo $? >&3; } | awk '
    /^not ok [0-9]+ # SKIP/ {
        number = $3; name = $0; sub(/^not ok [0-9]+ # SKIP */, "", name)
        print "ok " number " - " name " # SKIP " reason; fflush(); next
    }
    /^# / { reason = substr($0, 3) }
    /^(not )?ok / { reason = "no reason given" }
    { print; fflush() }' >&4; } 3>&1)
exit "${status:-99}"
