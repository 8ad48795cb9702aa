# Every check and every set-up step; CI calls only these.
CARGO ?= cargo
PYTHON ?= python3
PROVE = target/release/prove
INSECURE = target/insecure-params
INSECURE_2KIB = $(INSECURE)/v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f.params

.PHONY: help demo test lint build fuzz testdata testdata-proof parity-full cuda gpu-test-build \
	gpu-test peers verify-upstream

help:
	@echo 'make demo      build, make insecure 2 KiB parameters, prove and verify a sector'
	@echo 'make test      formatting, clippy, build, the tests'
	@echo 'make lint      formatting and clippy'
	@echo 'make fuzz      two minutes of damaged C1 and parameter files'
	@echo 'make testdata  seal the sectors of testdata/ again'
	@echo 'make cuda      fetch a pinned nvcc into .cuda/, with pip'
	@echo 'make gpu-test  build and run the GPU tests; gpu-test-build only packs them'
	@echo 'make peers     build the program that proves with supraseal-c2, to compare with'
	@echo 'make verify-upstream C1=FILE VK=FILE PROOF=FILE  what upstream says of a proof of any size'
	@echo 'make parity-full  compare the large circuits with the reference, a quarter of an hour'

# Both build one profile, so that the second finds the first one's work.
build:
	$(CARGO) build --release --locked --bins --tests

# The tests make the same ones, from the same seed.
$(INSECURE_2KIB): | build
	$(PROVE) params setup --insecure --sector-size 2KiB --seed 1 --out $(INSECURE)

demo: build $(INSECURE_2KIB)
	$(PROVE) --params $(INSECURE) testdata/c1-2KiB.json target/demo.proof
	$(PROVE) --params $(INSECURE) verify testdata/c1-2KiB.json target/demo.proof

test: lint build
	$(CARGO) test --release --locked

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --all-targets -- -D warnings

# Two minutes of random damage to C1 files and parameter files, a minute each.
fuzz:
	FUZZ_SECONDS=60 $(CARGO) test --release --locked --test fuzz

# Seals the sectors of testdata/ again and writes their C1 files.
testdata:
	UPDATE_TESTDATA=1 $(CARGO) test --release --locked --test testdata

# Lets upstream prove testdata/$(NAME).json with the parameters in target/insecure-params.
testdata-proof: $(INSECURE_2KIB)
	PROVE_TESTDATA=$(NAME) $(CARGO) test --release --locked --test oracle committed
	$(MAKE) testdata

# Upstream's word on a proof that was made elsewhere, and on false ones near it.
verify-upstream:
	@test -n '$(C1)' -a -n '$(VK)' -a -n '$(PROOF)' || \
		{ echo 'usage: make verify-upstream C1=FILE VK=FILE PROOF=FILE' >&2; exit 2; }
	VERIFY_C1='$(C1)' VERIFY_VK='$(VK)' VERIFY_PROOF='$(PROOF)' $(CARGO) test --release --locked \
		--test oracle -- --ignored --nocapture a_proof_from_outside

# Every row of the 512 MiB, 32 GiB and 64 GiB circuits, and every value of one partition of a
# sample of each, against the reference.
parity-full:
	$(CARGO) test --release --locked --test circuit_shape --test witness -- \
	    --nocapture --ignored --test-threads 1

# A pinned nvcc in .cuda/, where build.rs looks first. Needs pip.
cuda: .cuda/.complete

.cuda/.complete: gpu/cuda-wheels.txt
	rm -rf .cuda
	$(PYTHON) -m pip install --quiet --no-deps --target .cuda -r $<
	touch $@

# The GPU tests in target/gpu-tests/, to be copied to a machine with a GPU: it needs no cargo.
gpu-test-build: cuda
	rm -rf target/gpu-tests
	mkdir -p target/gpu-tests
	$(CARGO) test --release --locked --test gpu --test gpu_proof --test gpu_cli --no-run \
		--message-format=json \
		| $(PYTHON) -c 'import json, sys; [print(m["target"]["name"], m["executable"]) \
		for m in map(json.loads, sys.stdin) \
		if m.get("executable") and m["target"]["kind"] == ["test"]]' >target/gpu-tests/executables
	while read -r name path; do strip -o target/gpu-tests/$$name "$$path"; done \
		<target/gpu-tests/executables
	$(CARGO) build --release --locked --bin prove
	strip -o target/gpu-tests/prove $(PROVE)
	cp gpu/run-tests.sh testdata/*.json target/gpu-tests/

gpu-test: gpu-test-build
	target/gpu-tests/run-tests.sh

# Another prover on the same C1, parameters and card: benches/peers/README.md. cargo reads that
# folder's settings only from inside it, and no flags there when the caller's environment has some.
peers: cuda
	cd benches/peers && env -u RUSTFLAGS $(CARGO) build --release --locked
