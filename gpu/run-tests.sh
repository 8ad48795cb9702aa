#!/usr/bin/env bash
# Runs the packed GPU tests; `make gpu-test-build` puts this file beside them.
#
#   run-tests.sh [small|large|proof|cli|time|sanitize]...
#
# Without arguments: small, sanitize, large, proof, cli. The last two make parameters in a temporary
# folder.
# `time` reads the sizes from GPU_LOG_SIZES (log2, comma-separated).
set -euo pipefail
cd "$(dirname "$0")"

nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no NVIDIA GPU here"; exit 77; }

run() { ./gpu --ignored --nocapture --test-threads=1 "$@"; }

# Makes the parameters of the sizes named, once.
parameters() {
    export PROVE_TEST_DATA=$PWD PROVE_TEST_BINARY=$PWD/prove
    if [ -z "${PROVE_TEST_PARAMS:-}" ]; then
        PROVE_TEST_PARAMS=$(mktemp -d)
        export PROVE_TEST_PARAMS
        trap 'rm -rf "$PROVE_TEST_PARAMS"' EXIT
    fi
    for size in "$@"; do
        [ -e "$PROVE_TEST_PARAMS/$size" ] && continue
        ./prove params setup --insecure --sector-size "$size" --seed 1 --out "$PROVE_TEST_PARAMS"
        touch "$PROVE_TEST_PARAMS/$size"
    done
}

proofs() {
    parameters 2KiB 8MiB 512MiB
    ./gpu_proof --ignored --nocapture --test-threads=1 proof
}

cli() {
    parameters 2KiB
    ./gpu_cli --ignored --nocapture --test-threads=1 cli
}

for part in "${@:-small sanitize large proof cli}"; do
    for name in $part; do
        echo "== $name"
        case $name in
        small | large | time*) run "$name" ;;
        proof) proofs ;;
        cli) cli ;;
        sanitize)
            # The sums of every size would take many minutes: one of each kind stands for them.
            for tool in memcheck racecheck; do
                skipped=(--skip g1_sums)
                if [ $tool = racecheck ]; then
                    skipped+=(--skip g2_sums --skip exceptional --skip bit_sums --skip small_tails)
                fi
                compute-sanitizer --tool $tool --error-exitcode 1 \
                    ./gpu --ignored --nocapture --test-threads=1 small "${skipped[@]}" 2>&1 \
                    | tail -n 40
            done
            ;;
        *) echo "unknown part: $name" >&2; exit 2 ;;
        esac
    done
done
