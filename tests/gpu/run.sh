#!/bin/bash
# Builds the CUDA kernels, holds them and whole models to the truth, times them beside peers, runs the sanitizers.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/gpu/run.sh [STAGE…]     stages: build ops products models soak sanitize bench bench-products speed plan plot; all of them by default
# Needs an NVIDIA GPU and nvcc; bench also PyTorch (and the cudnn frontend for cuDNN's own ALiBi); speed numpy.
#   GPU_BUILD=DIR  a finished build with the plug-in (default: build in the top folder), tests built too
#   GPU_MODELS=…   model files that models tries besides the toy ones (perplexity on GPU_TEXT, a text file)
#   GPU_SPEED=…    which models speed makes and times (default: 8b-q4,8b-q8,8b-bf16,mpt-q4)
#   GPU_OUT=DIR    where everything goes (default: gpu-out in the current folder); a build there is used again
#   GPU_ARCH=…     the target (default sm_90a)
#   GPU_SEED=N     repeats a run of ops (default: the time)
#   GPU_SOAK=N     seconds of random use in soak (default 300)
# Each stage ends within 8 minutes and with a line "STAGE: passed" or "STAGE: FAILED"; the exit status
# is 1 when any stage failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${GPU_OUT:-gpu-out}
done_build=${GPU_BUILD:-$here/../../build}
export LONGLEAF_PLUGINS=$done_build/cuda
mkdir -p "$out"
out=$(cd "$out" && pwd)
build=$out/build
test=$build/test_attention
failed=0

report() # STAGE STATUS
{
    if [ "$2" -eq 0 ]; then
        echo "$1: passed ($SECONDS s since the start)"
    else
        echo "$1: FAILED (see $out/$1*.log)"
        failed=1
    fi
}

stage_build()
{
    make -s -C "$here" -j"$(nproc)" OUT="$build" ARCH="${GPU_ARCH:-sm_90a}" > "$out/build.log" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 20 "$out/build.log"
    # The kernels that carry the load keep everything in registers.
    if cat "$build"/hopper_*.o.log "$build"/decode_*.o.log "$build"/packed_*.o.log "$build"/fused_*.o.log | grep 'bytes spill' | grep -qv ' 0 bytes spill stores'; then
        echo "a Hopper, decode or product kernel spills registers"
        status=1
    fi
    report build $status
}

stage_ops()
{
    seed=${GPU_SEED:-$(date +%s)}
    timeout 450 "$test" "$seed" > "$out/ops.log" 2>&1
    status=$?
    grep -B 2 -E '^not ok|^Bail' "$out/ops.log"
    LL_SEED=$seed CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 "$done_build/tests/gpu/test_backend" cuda "$LONGLEAF_PLUGINS" > "$out/ops-table.log" 2>&1 ||
        status=1
    grep -A 6 -E '^not ok' "$out/ops-table.log"
    echo "operations of the table: $(grep -c '^ok' "$out/ops-table.log") cases right, $(grep -c '^not ok' "$out/ops-table.log") wrong"
    echo "seed $seed: $(grep -c '^ok' "$out/ops.log") cases right, $(grep -c '^not ok' "$out/ops.log") wrong;" \
        "largest error of a case: $(sed -n 's/.*: error \([^,]*\),.*/\1/p' "$out/ops.log" | sort -g | tail -n 1)"
    report ops $status
}

# Perplexity on the GPU within 0.2 % of the CPU's.
compare_perplexity() # MODEL
{
    for device in cpu cuda; do
        "$done_build/longleaf" ppl --device $device --model "$1" "$GPU_TEXT" > "$out/ppl-$device.txt" 2> "$out/ppl-$device.err" || return 1
    done
    sed -n 's/.*perplexity \([0-9.]*\).*/\1/p' "$out/ppl-cpu.txt" "$out/ppl-cuda.txt" | awk -v model="${1##*/}" '
        { x[NR] = $1 }
        END { off = x[2] / x[1] - 1; off = off < 0 ? -off : off
              printf "perplexity of %s: CPU %g, GPU %g, %.3f %% apart\n", model, x[1], x[2], 100 * off; exit !(off <= 0.002) }'
}

stage_models()
{
    # shellcheck disable=SC2086 # a list of files
    CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 "$done_build/tests/gpu/test_models" "$LONGLEAF_PLUGINS" ${GPU_MODELS:-} > "$out/models.log" 2>&1
    status=$?
    grep -E '^#|^ok|^not ok' "$out/models.log"
    for model in ${GPU_MODELS:-}; do
        [ -z "${GPU_TEXT:-}" ] || compare_perplexity "$model" || status=1
    done
    report models $status
}

stage_products()
{
    seed=${GPU_SEED:-$(date +%s)}
    timeout 450 "$build/test_products" "$seed" > "$out/products.log" 2>&1
    status=$?
    grep -E '^not ok|^Bail|^# matrix' "$out/products.log"
    echo "seed $seed: $(grep -c '^ok' "$out/products.log") cases right, $(grep -c '^not ok' "$out/products.log") wrong"
    report products $status
}

# Whether racecheck takes an mbarrier for an order; race_probe.cu says what is asked.
ask_racecheck()
{
    nvcc -gencode=arch=compute_90a,code=sm_90a -o "$out/race_probe" "$here/race_probe.cu" || return 1
    for order in barrier mbarrier none; do
        echo "racecheck, a write and reads ordered by $order: $(compute-sanitizer --tool racecheck "$out/race_probe" $order |
            sed -n 's/=* RACECHECK SUMMARY: //p')"
    done
}

# racecheck leaves the Hopper kernel out: its control words are ordered by mbarriers, which this tool
# reports as races (docs/attention.md).
stage_sanitize()
{
    status=0
    ask_racecheck || status=1
    for tool in memcheck initcheck; do
        log=$out/sanitize-$tool-table.log
        CMOCKA_MESSAGE_OUTPUT=TAP LL_SEED=7 timeout 300 compute-sanitizer --tool $tool --error-exitcode 9 \
            "$done_build/tests/gpu/test_backend" cuda "$LONGLEAF_PLUGINS" > "$log" 2>&1 || status=1
        echo "$tool, the table's operations: $(grep -c '^ok' "$log") cases, $(grep -h 'SUMMARY' "$log" | sed 's/=* //')"
    done
    for run in "memcheck:" "initcheck:" "synccheck:" "racecheck:(mma)"; do
        tool=${run%%:*}
        for cases in "window, sinks" "dropped pages" "softcap" "bf16 causal, ragged"; do
            log=$out/sanitize-$tool-${cases//[^a-z]/}.log
            timeout 200 compute-sanitizer --tool "$tool" --error-exitcode 9 "$test" 7 "$cases" "${run#*:}" > "$log" 2>&1
            code=$?
            echo "$tool, $cases: $(grep -c '^ok' "$log") cases, $(grep -h 'SUMMARY' "$log" | sed 's/=* //')"
            [ $code -eq 0 ] || status=1
        done
        case=$out/sanitize-$tool-products.log
        timeout 200 compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/test_products" 7 "13 rows" > "$case" 2>&1
        code=$?
        # One row's sums pass from warp to warp by a counter, an order that racecheck does not see (docs/products.md).
        if [ "$tool" = racecheck ]; then
            code=0
            grep 'Race reported' "$case" | grep -qv '(int)1>' && code=1
        fi
        echo "$tool, products: $(grep -c '^ok' "$case") cases, $(grep -h 'SUMMARY' "$case" | sed 's/=* //')"
        [ $code -eq 0 ] || status=1
    done
    report sanitize $status
}

stage_bench()
{
    timeout 470 python3 "$here/bench.py" "$build/libkernels.so" --json "$out/bench.json" --seconds 400 > "$out/bench.log" 2>&1
    status=$?
    cat "$out/bench.log"
    report bench $status
}

stage_bench-products()
{
    timeout 470 "$build/bench_products" > "$out/bench-products.log" 2>&1
    status=$?
    cat "$out/bench-products.log"
    report bench-products $status
}

stage_speed()
{
    timeout 470 python3 "$here/speed.py" "$done_build/longleaf" ${GPU_SPEED:+--models "$GPU_SPEED"} --json "$out/speed.json" > "$out/speed.log" 2>&1
    status=$?
    cat "$out/speed.log"
    report speed $status
}

# Minutes of random sequences and cancellations; graphs on and off.
stage_soak()
{
    CMOCKA_MESSAGE_OUTPUT=TAP timeout 470 "$done_build/tests/gpu/test_soak" "$LONGLEAF_PLUGINS" "${GPU_SOAK:-300}" > "$out/soak.log" 2>&1
    status=$?
    grep -E '^#|^ok|^not ok|ERROR' "$out/soak.log"
    report soak $status
}

# The plan's memory beside the driver's.
stage_plan()
{
    timeout 470 python3 "$here/plan.py" "$done_build/longleaf" > "$out/plan.log" 2>&1
    status=$?
    cat "$out/plan.log"
    report plan $status
}

stage_plot()
{
    timeout 470 python3 "$here/plot.py" "$done_build/longleaf" "$out/long-document.svg" --json "$out/long-document.json" > "$out/plot.log" 2>&1
    status=$?
    cat "$out/plot.log"
    report plot $status
}

[ $# -gt 0 ] || set -- build ops products models soak sanitize bench bench-products speed plan plot
for stage; do
    case $stage in
    build | ops | products | models | soak | sanitize | bench | bench-products | speed | plan | plot) "stage_$stage" ;;
    *)
        echo "there is no stage $stage" >&2
        exit 2
        ;;
    esac
done
exit $failed
