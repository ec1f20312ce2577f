# A thin front for Meson. `make` builds build/ada, which runs from the tree; what needs Debian packages installs them.
BUILD ?= build
PREFIX ?= /usr/local
NINJA = ninja -C $(BUILD)
SANITIZED = ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# Whose agents, in-process by nature, are tested in the plain build.
IN_PROCESS = --no-suite agent --no-suite programs --no-suite real --no-suite house

all: $(BUILD)/build.ninja
	@$(NINJA) product

# A set-up that failed half-way leaves no build.ninja, but a directory that only --wipe clears.
$(BUILD)/build.ninja:
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -rf $(BUILD); exit 1; }
	@rm -f $(BUILD).log

demo:
	@tools/install-packages build
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) tools/demo

check: check-build check-sanitized check-fuzz

check-packages:
	@tools/install-packages build test

check-build: check-packages
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@meson configure $(BUILD) -Dtests=enabled
	@$(NINJA)
	meson test -C $(BUILD) --no-rebuild --print-errorlogs

check-sanitized: check-build
	@test -e build-asan/build.ninja || meson setup build-asan -Db_sanitize=address,undefined -Dtests=enabled >/dev/null
	@ninja -C build-asan
	$(SANITIZED) meson test -C build-asan --no-rebuild --print-errorlogs $(IN_PROCESS)

check-fuzz: check-sanitized
	@test -e build-fuzz/build.ninja || CC=clang meson setup build-fuzz -Dfuzz=true -Db_lundef=false \
		-Db_sanitize=address,undefined >/dev/null
	@ninja -C build-fuzz
	meson test -C build-fuzz --no-rebuild --print-errorlogs

bench: all
	@$(NINJA) bench

install: all
	@meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX))
	@$(NINJA) product
	@meson install -C $(BUILD) --no-rebuild --quiet

format:
	@clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

clean:
	@rm -rf $(BUILD) build-asan build-fuzz

.PHONY: all demo check check-packages check-build check-sanitized check-fuzz bench install format clean
