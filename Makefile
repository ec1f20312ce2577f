# A thin front for Meson. `make` builds build/ada, which runs from the tree. `make demo` and `make check` install the
# Debian packages that they need.
BUILD ?= build
PREFIX ?= /usr/local
export BUILD

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD) product

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "Meson is missing: tools/install-packages build installs what ada needs"; exit 1; }
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -rf $(BUILD) $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

demo:
	@tools/install-packages build
	@$(MAKE) --no-print-directory all
	@tools/demo

check:
	@tools/check

# The whole of what `make check` takes samples of: hours.
soak:
	@ADA_SOAK=yes FUZZ_SECONDS=60 tools/check

# 20 million executions of each fuzzer, or GOAL, over as many runs as that takes.
fuzz:
	@tools/fuzz-on $(or $(GOAL),20000000)

# ada beside other tracers (bench/README.md), or some of that: ROWS=leaf,fib PEERS=ada,uftrace ROUNDS=3. Then what has no peers, some
# of which shares parts with the tests. A tracer that can't be had is left out, with its reason.
bench:
	@tools/install-packages build test
	@tools/install-packages bench || echo "bench: goes on with what is here"
	@$(MAKE) --no-print-directory all
	@bench/peers/run --ada $(BUILD)/ada --json $(BUILD)/peers.json $(if $(ROWS),--rows='$(ROWS)') $(if $(PEERS),--peers='$(PEERS)') \
		$(if $(ROUNDS),--rounds='$(ROUNDS)')
	@$(if $(ROWS)$(PEERS),,meson configure $(BUILD) -Dtests=enabled && ninja -C $(BUILD) bench)

install: all
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@ninja -C $(BUILD) product
	@meson install -C $(BUILD) --no-rebuild --quiet

# ada and libatf as Debian packages, into build/packages.
deb:
	@tools/install-packages build deb
	@tools/build-packages $(BUILD)/packages && ls $(BUILD)/packages/*.deb

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD) build-asan build-fuzz build-fuzz-fast

.PHONY: all demo check soak fuzz bench install deb format clean
