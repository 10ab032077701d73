# Recto's everyday commands. GNU make and a POSIX shell are enough. What else the
# build needs, `scripts/setup` installs where it may, and names where not.
#
# Cargo's own `target/` is used unless CARGO_TARGET_DIR says otherwise.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help chat serve test escape build lint docs bench fuzz clean cargo

BENCH ?= context
TARGET ?=
MINUTES ?= 1
MESSAGE ?=
# Taken at its word, and passed by environment: quotes and dollars in it stay
# what they are, and nothing in it is run.
override MESSAGE := $(value MESSAGE)
export MESSAGE

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

chat: cargo ## build, set up a home, pull a model, and talk: MESSAGE, a pipe, or you type
	@scripts/chat

serve: cargo ## build, set up a home, pull a model, and open the web page
	@scripts/serve

test: cargo ## run every test suite, and say which ran
	@scripts/test

escape: cargo ## try to get out of the sandbox, and say how many attempts were made
	@scripts/escape

build: cargo ## build the `recto` command, and print where it is
	@scripts/build

lint: cargo ## check format, lints and the repository's own rules
	@scripts/setup
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --features recto/embedded -- -D warnings
	@cargo xtask tidy

docs: cargo ## write the reference pages in docs/ from the code
	@cargo xtask docs

bench: cargo ## run the benchmark BENCH
	@cargo xtask bench $(BENCH)

fuzz: cargo ## try parsers with made-up inputs: TARGET (all), MINUTES each (1)
	@cargo xtask fuzz $(TARGET) --minutes $(MINUTES)

clean: cargo ## remove what was built
	@cargo clean

cargo:
	@command -v cargo >/dev/null 2>&1 || { \
	  echo "error: cargo was not found" >&2; \
	  echo >&2; \
	  echo "hint: install Rust with" >&2; \
	  echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh" >&2; \
	  exit 1; \
	}
