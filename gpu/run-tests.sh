#!/usr/bin/env bash
# Runs the packed GPU tests; `make gpu-test-build` puts this file beside them.
#
#   run-tests.sh [small|large|time|sanitize]...
#
# Without arguments: small, sanitize, large. `time` reads the sizes from GPU_LOG_SIZES (log2,
# comma-separated).
set -euo pipefail
cd "$(dirname "$0")"

nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no NVIDIA GPU here"; exit 77; }

run() { ./gpu-tests --ignored --nocapture --test-threads=1 "$@"; }

for part in "${@:-small sanitize large}"; do
    for name in $part; do
        echo "== $name"
        case $name in
        small | large | time*) run "$name" ;;
        sanitize)
            compute-sanitizer --error-exitcode 1 \
                ./gpu-tests --ignored --nocapture --test-threads=1 small 2>&1 | tail -n 20
            # Every size would take racecheck many minutes: two sums stand for them.
            compute-sanitizer --tool racecheck --error-exitcode 1 \
                ./gpu-tests --ignored --nocapture --test-threads=1 small \
                --skip g1_sums --skip g2_sums 2>&1 | tail -n 20
            ;;
        *) echo "unknown part: $name" >&2; exit 2 ;;
        esac
    done
done
