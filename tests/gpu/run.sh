#!/bin/bash
# Builds the CUDA kernels, holds them to the truth, times them beside their peers, runs the sanitizers.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/gpu/run.sh [STAGE…]     stages: build ops products sanitize bench bench-products; all by default
# Needs an NVIDIA GPU and nvcc; bench also PyTorch (and the cudnn frontend for cuDNN's own ALiBi).
#   GPU_OUT=DIR    where everything goes (default: gpu-out in the current folder); a build there is used again
#   GPU_ARCH=…     the target (default sm_90a)
#   GPU_SEED=N     repeats a run of ops (default: the time)
# Each stage ends within 8 minutes and with a line "STAGE: passed" or "STAGE: FAILED"; the exit status
# is 1 when any stage failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${GPU_OUT:-gpu-out}
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
    if cat "$build"/hopper_*.o.log "$build"/decode_*.o.log "$build"/fused_*.o.log | grep 'bytes spill' | grep -qv ' 0 bytes spill stores'; then
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
    echo "seed $seed: $(grep -c '^ok' "$out/ops.log") cases right, $(grep -c '^not ok' "$out/ops.log") wrong;" \
        "largest error of a case: $(sed -n 's/.*: error \([^,]*\),.*/\1/p' "$out/ops.log" | sort -g | tail -n 1)"
    report ops $status
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

# racecheck leaves the Hopper kernel out: its control words are ordered by mbarriers, which this tool
# reports as races (docs/attention.md).
stage_sanitize()
{
    status=0
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

[ $# -gt 0 ] || set -- build ops products sanitize bench bench-products
for stage; do
    case $stage in
    build | ops | products | sanitize | bench | bench-products) "stage_$stage" ;;
    *)
        echo "there is no stage $stage" >&2
        exit 2
        ;;
    esac
done
exit $failed
