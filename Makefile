# Every check and every set-up step; CI calls only these.
CARGO ?= cargo

.PHONY: test lint build

test: lint build
	$(CARGO) test --release --locked

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --locked --all-targets -- -D warnings

build:
	$(CARGO) build --release --locked --bins --tests
