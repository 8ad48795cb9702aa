#!/usr/bin/env bash
# Runs the packed GPU tests; `make gpu-test-build` puts this file beside them.
#
#   run-tests.sh [small|large|proof|time|sanitize]...
#
# Without arguments: small, sanitize, large, proof. `proof` makes parameters in a temporary folder.
# `time` reads the sizes from GPU_LOG_SIZES (log2, comma-separated).
set -euo pipefail
cd "$(dirname "$0")"

nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no NVIDIA GPU here"; exit 77; }

run() { ./gpu --ignored --nocapture --test-threads=1 "$@"; }

proofs() {
    PROVE_TEST_PARAMS=$(mktemp -d)
    export PROVE_TEST_PARAMS PROVE_TEST_DATA=$PWD
    trap 'rm -rf "$PROVE_TEST_PARAMS"' EXIT
    for size in 2KiB 8MiB; do
        ./prove params setup --insecure --sector-size $size --seed 1 --out "$PROVE_TEST_PARAMS"
    done
    ./gpu_proof --ignored --nocapture --test-threads=1 proof
}

for part in "${@:-small sanitize large proof}"; do
    for name in $part; do
        echo "== $name"
        case $name in
        small | large | time*) run "$name" ;;
        proof) proofs ;;
        sanitize)
            compute-sanitizer --error-exitcode 1 \
                ./gpu --ignored --nocapture --test-threads=1 small 2>&1 | tail -n 20
            # Every size would take racecheck many minutes: two sums stand for them.
            compute-sanitizer --tool racecheck --error-exitcode 1 \
                ./gpu --ignored --nocapture --test-threads=1 small \
                --skip g1_sums --skip g2_sums 2>&1 | tail -n 20
            ;;
        *) echo "unknown part: $name" >&2; exit 2 ;;
        esac
    done
done
