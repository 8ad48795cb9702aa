# Every check and every set-up step; CI calls only these.
CARGO ?= cargo

.PHONY: test lint build testdata

test: lint build
	$(CARGO) test --release --locked

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --all-targets -- -D warnings

build:
	$(CARGO) build --release --locked --bins --tests

# Seals the sectors of testdata/ again and writes their C1 files.
testdata:
	UPDATE_TESTDATA=1 $(CARGO) test --release --locked --test testdata
