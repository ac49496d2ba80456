# For operators:            run up down test build bench fuzz lint
# For developers:           test-long test-mutants test-platforms endurance check-drift format clean compile_commands.json
#                           test-api test-random screenshots settings fuzz-binaries fuzz-corpus fuzz-coverage
# Settings: PROFILE=release|asan|tsan|valgrind, V=1 shows commands, ONLY=PATTERN narrows tests and lint.
MAKEFLAGS += -rR --no-print-directory
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
ifndef MAKE_STARTED
export MAKE_STARTED := $(shell date +%s)
endif
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

PROFILE ?= release
OUT      = build/$(PROFILE)
ifeq ($(V),1)
Q =
else
Q = @
endif

# With ccache a file is compiled once for all checkouts.
CC = $(if $(shell command -v ccache),ccache )gcc
PKGS = libh2o-evloop jansson libpq openssl libcurl libcares liblz4
# libh2o's headers default to libuv, and cause warnings with our flags: hence -isystem.
PKG_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS) 2>/dev/null)) -DH2O_USE_LIBUV=0
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lnats -lpthread

WARNINGS = -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wconversion \
           -Wvla -Wformat=2 -Wundef -Wwrite-strings -Wno-unused-parameter
CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-omit-frame-pointer
CFLAGS_asan    = -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    = -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_valgrind = -O1 -g -fno-omit-frame-pointer
CFLAGS_coverage = -O0 -g --coverage
ifneq ($(filter fuzz fuzz-coverage,$(PROFILE)),)
CC = clang
WARNINGS =
endif
CFLAGS_fuzz = -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CFLAGS_fuzz-coverage = -O1 -g -fsanitize-coverage=bb,inline-8bit-counters,pc-table -fprofile-instr-generate -fcoverage-mapping
CFLAGS  = -std=gnu17 -D_GNU_SOURCE -pthread -fPIE -I. -I$(OUT)/gen $(WARNINGS) $(CFLAGS_$(PROFILE)) $(EXTRA_CFLAGS)
# Optimizing tests takes three times as long as compiling them, and they run only a few times.
UNOPTIMIZED = -O0 -U_FORTIFY_SOURCE
LDFLAGS = -pie -pthread -Wl,--as-needed,-z,relro,-z,now -rdynamic $(CFLAGS_$(PROFILE)) $(EXTRA_LDFLAGS)

COMMON_SRC := $(sort $(wildcard common/*/*.c) $(wildcard proto/*.c))
COMMON_OBJ  = $(COMMON_SRC:%.c=$(OUT)/%.o)
# One program for each folder of services/ with a main.c.
PROGRAMS := $(patsubst services/%/main.c,%,$(sort $(wildcard services/*/main.c)))
BINARIES  = $(PROGRAMS:%=$(OUT)/bin/%)
# Linked programs. For valgrind, which runs our programs, bin has scripts that call it.
LINKED    = $(OUT)/$(if $(filter valgrind,$(PROFILE)),linked,bin)
# Folders with an sql/ subfolder get a registry NAME_sql.[ch], made from it and from headers with columns
# that several statements share.
SQL_DIRS := $(sort $(patsubst %/sql/,%,$(dir $(wildcard services/*/sql/*.sql common/*/sql/*.sql))))
COLUMN_HEADERS := $(shell grep -lE '^enum [a-z_]+_column \{' common/*/*.h services/*/*.h)
SQL_HEADERS := $(foreach d,$(SQL_DIRS),$(OUT)/gen/$(notdir $(d))_sql.h)

.PHONY: build programs
programs: $(BINARIES) $(OUT)/bin/nats-config
build: programs $(OUT)/bin/supervisor
ifeq ($(PROFILE),release)
build: compile_commands.json
	$(Q)mkdir -p build && ln -sfn release/bin build/bin
endif
	@echo "build: $$(($$(date +%s) - MAKE_STARTED)) s"

# Rewritten only if the flags have changed: then everything is recompiled.
$(OUT)/flags: FORCE
	$(Q)mkdir -p $(@D) && echo '$(CC) $(CFLAGS) $(UNOPTIMIZED) $(LDFLAGS)' >$@.now && cmp -s $@.now $@ || cp $@.now $@
# Phony, since otherwise .SECONDARY makes it a file that need not exist, and targets that depend on it are
# never checked again.
.PHONY: FORCE
FORCE:

$(OUT)/%.o: %.c $(OUT)/flags | $(SQL_HEADERS)
	$(Q)mkdir -p $(@D)
	@echo "CC   $<"
	$(Q)$(CC) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/tests/unit/%.o $(OUT)/tests/integration/%.o: private CFLAGS += $(UNOPTIMIZED)

# How each file is compiled, for editors. Rewritten only if its contents have changed.
compile_commands.json: export COMMAND = $(CC) $(CFLAGS) $(PKG_CFLAGS)
compile_commands.json: FORCE
	$(Q)mkdir -p $(OUT) && tools/compile-commands $(ALL_C) >$(OUT)/$@
	$(Q)cmp -s $(OUT)/$@ $@ || cp $(OUT)/$@ $@

define sql_registry
$(OUT)/gen/$(notdir $(1))_sql.h $(OUT)/gen/$(notdir $(1))_sql.c &: $(wildcard $(1)/sql/*.sql) $(filter common/% $(1)/%,$(COLUMN_HEADERS)) tools/embed-sql $(1)/sql
	$$(Q)mkdir -p $(OUT)/gen
	@echo "SQL  $(1)"
	$$(Q)tools/embed-sql $(notdir $(1)) $(OUT)/gen $$(filter %.sql %.h,$$^)
$(OUT)/gen/$(notdir $(1))_sql.o: $(OUT)/gen/$(notdir $(1))_sql.c $(OUT)/flags
	$$(Q)$$(CC) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach d,$(SQL_DIRS),$(eval $(call sql_registry,$(d))))

# The dashboard's files, embedded in the program.
ASSETS := $(sort $(shell find services/dashboard/assets -type f 2>/dev/null))
$(OUT)/gen/dashboard_assets.c: $(ASSETS) $(sort $(dir $(ASSETS))) proto/openapi.yaml tools/embed-assets
	$(Q)mkdir -p $(@D)
	@echo "EMBED services/dashboard/assets"
	$(Q)tools/embed-assets $@ services/dashboard/assets proto/openapi.yaml
$(OUT)/gen/dashboard_assets.o: $(OUT)/gen/dashboard_assets.c $(OUT)/flags
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<
OBJ_dashboard = $(OUT)/gen/dashboard_assets.o

# The version is not in libcommon.a, so that another commit relinks the programs, but no test.
VERSION_OBJ = $(OUT)/gen/version.o
$(OUT)/gen/version.c: FORCE
	$(Q)mkdir -p $(@D) && tools/version --source $@
$(VERSION_OBJ): $(OUT)/gen/version.c $(OUT)/flags
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

define program
$(LINKED)/$(1): $(patsubst %.c,$(OUT)/%.o,$(wildcard services/$(1)/*.c)) $(if $(wildcard services/$(1)/sql/*.sql),$(OUT)/gen/$(1)_sql.o) $(OBJ_$(1)) $(VERSION_OBJ) $(OUT)/libcommon.a
	$$(Q)mkdir -p $$(@D)
	@echo "LINK $(1)"
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(PKG_LIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

ifeq ($(PROFILE),valgrind)
$(BINARIES): $(OUT)/bin/%: tools/valgrind-wrapper $(OUT)/linked/%
	$(Q)mkdir -p $(@D) && sed 's|PROGRAM|$(CURDIR)/$(OUT)/linked/$*|' $< >$@ && chmod +x $@
endif

$(OUT)/bin/supervisor: $(OUT)/deploy/local/supervisor.o $(VERSION_OBJ)
	$(Q)mkdir -p $(@D)
	@echo "LINK supervisor"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^

$(OUT)/bin/nats-config: $(OUT)/deploy/nats/nats_config.o $(VERSION_OBJ) $(OUT)/libcommon.a
	$(Q)mkdir -p $(@D)
	@echo "LINK nats-config"
	$(Q)$(CC) $(LDFLAGS) -o $@ $^

# All migrations, embedded in migrate, in the order in which they are applied: a folder comes after those whose
# tables and functions it needs.
MIGRATED := common/cell $(addprefix services/,access audit webhook conversation search)
$(OUT)/gen/migrations.c: $(wildcard */*/migrations */*/migrations/*.sql) tools/embed-migrations
	$(Q)mkdir -p $(@D)
	@echo "SQL  migrations"
	$(Q)tools/embed-migrations $@ $(MIGRATED)
$(OUT)/gen/migrations.o: $(OUT)/gen/migrations.c $(OUT)/flags
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<
$(LINKED)/migrate: $(OUT)/gen/migrations.o

$(OUT)/libcommon.a: $(COMMON_OBJ) $(foreach d,$(filter common/%,$(SQL_DIRS)),$(OUT)/gen/$(notdir $(d))_sql.o)
	$(Q)rm -f $@ && ar qcs $@ $^

# -- tests -----------------------------------------------------------------------------------------
# ONLY=PATTERN, a regular expression, selects tests by their path: only what these need is built, installed
# and started. tests/integration/FOLDER/NAME_test.c also matches as tests/integration/NAME_test.c.
wanted   = grep -E -e '$(ONLY)'
tests_in = $(shell find $(1) -name '*_test.c' 2>/dev/null | sort | $(wanted))
UNIT_SRC        := $(call tests_in,tests/unit)
INTEGRATION_SRC := $(shell find tests/integration -name '*_test.c' | sort | \
                     sed -E 's|^(tests/integration/).*/(.*)|& \1\2|' | $(wanted) | cut -d ' ' -f 1)
LONG_SRC        := $(call tests_in,tests/long tests/faults)
scripts_in = $(shell ls $(1)/*.test.mjs 2>/dev/null | $(wanted))
MOVED_SRC       := $(filter tests/api/moved%,$(call scripts_in,tests/api))
API_SRC         := $(filter-out $(MOVED_SRC),$(call scripts_in,tests/api))
# Unless ONLY names others, a sanitizer runs the tests that can find errors of memory or races: all unit tests of C code,
# those that end, cut off, flood or load something, and one of each other kind. It leaves out scripts, manifests and
# clients, and what integration/access, api and audit ask, since unit tests and tests/api ask it of the same code;
# ThreadSanitizer also what a single thread does, such as convctl, which moves organizations, or a parser, and
# partition and dashboard_limits, whose requests fail for want of a processor.
# TESTED_AS is the profile of the programs where the tests have another one.
TESTED_AS ?= $(PROFILE)
ifeq ($(ONLY)$(filter-out asan tsan,$(TESTED_AS)),)
UNIT_SRC := $(filter-out tests/unit/tools/% tests/unit/deploy/compose/% tests/unit/deploy/kubernetes/%,$(UNIT_SRC))
ASKING   := $(filter-out %_crash_test.c %_outage_test.c %/floods_test.c %/limits_test.c %/concurrent_creates_test.c, \
              $(filter $(addprefix tests/integration/,access/% api/% audit/%),$(INTEGRATION_SRC)))
INTEGRATION_SRC := $(filter-out $(ASKING) %/backup_test.c %/point_in_time_test.c %/stack_test.c %/stack_beside_test.c \
    %/cell_move_killed_test.c %/cell_move_lost_test.c $(if $(filter tsan,$(TESTED_AS)),%/cell_move_stuck_test.c %/partition_test.c %/dashboard_limits_test.c),$(INTEGRATION_SRC))
API_SRC := $(filter $(addprefix tests/api/,bus% conformance% random_% requests% webhooks% $(if $(filter asan,$(TESTED_AS)),bad_inputs%)),$(API_SRC))
endif
# Randomized tests: a few cases in `make test`, more in `make test-long`.
RANDOM_SRC      := $(filter tests/api/random_%,$(API_SRC))
# Tests of clients and receivers, for organizations in several cells.
CELLS_SRC       := $(filter $(addprefix tests/api/,client_% random_operations% requests% samples% sdk% webhooks%),$(API_SRC))
API_LONG_SRC    := $(sort $(RANDOM_SRC) $(CELLS_SRC) $(MOVED_SRC))
BROWSER_SRC     := $(call scripts_in,tests/browser)
MEASURED_SRC    := $(call scripts_in,tests/browser/measured)

# One program for each folder, from the selected test files and the other sources there, which they share.
# Programs of tests/unit/services/X link that service's objects, except main.c.
shared_in = $(filter-out %_test.c,$(wildcard $(1)*.c))
service_of = $(firstword $(subst /, ,$(patsubst tests/unit/services/%,%,$(filter tests/unit/services/%,$(1)))))
objects_of = $(patsubst %.c,$(OUT)/%.o,$(filter-out %/main.c,$(wildcard services/$(1)/*.c))) $(if $(wildcard services/$(1)/sql/*.sql),$(OUT)/gen/$(1)_sql.o) $(OBJ_$(1))
define test_program
$(OUT)/$(1)run: $(patsubst %.c,$(OUT)/%.o,$(2) $(call shared_in,$(1))) $(if $(call service_of,$(1)),$(call objects_of,$(call service_of,$(1)))) $(OUT)/tests/support/criterion_start.o $(OUT)/libsupport.a $(OUT)/libcommon.a $(OUT)/$(1)files
	@echo "LINK $(1:%/=%)"
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$(filter-out %/files,$$^) -lcriterion $$(PKG_LIBS)
$(OUT)/$(1)files: FORCE
	$$(Q)mkdir -p $$(@D) && echo '$(2)' | cmp -s - $$@ || echo '$(2)' >$$@
endef
TEST_SRC = $(UNIT_SRC) $(INTEGRATION_SRC) $(LONG_SRC)
$(foreach d,$(sort $(dir $(TEST_SRC))),$(eval $(call test_program,$(d),$(filter $(d)%_test.c,$(foreach t,$(TEST_SRC),$(if $(filter $(d),$(dir $(t))),$(t)))))))

# Programs that tests start.
SUPPORT_PROGRAMS := $(patsubst %.c,$(OUT)/%,$(sort $(wildcard tests/support/programs/*.c)))
$(OUT)/tests/support/programs/migrate_next: $(addprefix $(OUT)/services/migrate/,apply.o plan.o step.o) $(OUT)/gen/migrate_sql.o
$(SUPPORT_PROGRAMS): %: %.o $(OUT)/libcommon.a
	@echo "LINK $(@F)"
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(OUT)/libcommon.a $(PKG_LIBS)

# Libraries that they preload into programs.
PRELOADED := $(patsubst %.c,$(OUT)/%.so,$(sort $(wildcard tests/support/preload/*.c)))
$(PRELOADED): $(OUT)/%.so: %.c $(OUT)/flags
	$(Q)mkdir -p $(@D)
	@echo "LINK $(@F)"
	$(Q)$(CC) $(CFLAGS) -fPIC -shared -o $@ $<

# An archive, so that a test links only what it uses.
$(OUT)/libsupport.a: $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard tests/support/*.c))) | $(SUPPORT_PROGRAMS) $(PRELOADED)
	$(Q)rm -f $@ && ar qcs $@ $^

# The tests in JavaScript need the variables of a stack's env file in their environment. This is the last
# file that npm writes.
API_MODULES = tests/node_modules/.package-lock.json
BROWSER_MODULES = $(API_MODULES)
MEASURED_MODULES = tests/browser/measured/node_modules/.package-lock.json
CLIENT_MODULES = clients/typescript/node_modules/.package-lock.json
$(API_MODULES) $(MEASURED_MODULES) $(CLIENT_MODULES): %/node_modules/.package-lock.json: %/package.json %/package-lock.json
	@echo "NPM  $*"
	$(Q)cd $* && npm ci --ignore-scripts --prefer-offline --loglevel=error
	$(Q)touch $@

# The client in TypeScript, as packaged; only one of the tests needs it.
CLIENT_DIST = clients/typescript/dist/index.js
$(CLIENT_DIST): $(CLIENT_MODULES) clients/typescript/tsconfig.json $(wildcard clients/typescript/src/*.*ts)
	@echo "TSC  clients/typescript"
	$(Q)rm -rf $(@D) && npm run --silent --prefix clients/typescript build
CLIENTS = $(if $(filter %/client_typescript.test.mjs,$(API_SRC)),$(CLIENT_DIST))

.PHONY: test-api test-random test-cells test-moved
test-api: $(API_MODULES) $(CLIENTS)
	$(Q)cd tests/api && node --test --test-concurrency=2 --test-reporter=tap $(notdir $(API_SRC))
test-random: $(API_MODULES)
	$(Q)cd tests/api && node --test --test-concurrency=1 --test-reporter=tap $(notdir $(RANDOM_SRC))

test-cells: $(API_MODULES) $(CLIENTS)
	$(Q)cd tests/api && node --test --test-concurrency=2 --test-reporter=tap $(notdir $(CELLS_SRC))

# Tests whose clients can wait, run while their organization is moved.
test-moved: $(API_MODULES) $(CLIENT_DIST)
	$(Q)cd tests/api && MOVED='$(notdir $(wildcard $(addprefix tests/api/,client_*.test.mjs requests.test.mjs \
	    samples.test.mjs sdk.test.mjs webhooks.test.mjs)))' node --test --test-reporter=tap $(notdir $(MOVED_SRC))

# The dashboard in a real browser, on a running stack: tools/run-tests starts one. All files share a browser;
# tests that measure need the machine to themselves.
.PHONY: test-browser test-measured
test-browser: $(BROWSER_MODULES)
	$(Q)cd tests/browser && node --test --test-concurrency=2 --test-reporter=tap \
	    $(if $(filter-out $(BROWSER_SRC),$(wildcard tests/browser/*.test.mjs)),$(notdir $(BROWSER_SRC)),all.mjs)
test-measured: $(BROWSER_MODULES) $(MEASURED_MODULES)
	$(Q)cd tests/browser/measured && node --test --test-concurrency=1 --test-reporter=tap $(notdir $(MEASURED_SRC))

.PHONY: screenshots
screenshots:
	$(Q)tools/install-packages build run screenshots
	$(Q)$(MAKE) build $(BROWSER_MODULES)
	$(Q)tools/screenshots

# Criterion does not start under TSan, so only the programs of the stack are built with it, and not the tests.
# valgrind runs the unit tests of the release. Pages are the same however the programs were compiled.
TESTED_SRC = $(if $(filter-out tsan,$(PROFILE)),$(UNIT_SRC)) $(INTEGRATION_SRC)
TESTS_OUT  = $(if $(filter tsan valgrind,$(PROFILE)),build/release,$(OUT))
ifneq ($(PROFILE),release)
BROWSER_SRC =
endif
# Groups of packages and modules.
API     = $(if $(API_SRC),api)
BROWSER = $(if $(BROWSER_SRC),browser)
TESTED = $(patsubst %,$(TESTS_OUT)/%run,$(sort $(dir $(TESTED_SRC))))
# Some unit tests need no server and none of our programs.
WANTS_PROGRAMS = $(INTEGRATION_SRC)$(API_SRC)$(BROWSER_SRC)$(shell grep -rlE '(postgres|nats)_server\.h|tools/|deploy/|/bin/' \
                   $(sort $(dir $(UNIT_SRC))) /dev/null)

nothing = $(error nothing matches ONLY=$(ONLY))
.PHONY: test test-long
test:
	$(if $(strip $(TESTED_SRC) $(API_SRC) $(BROWSER_SRC)),,$(nothing))
	$(Q)tools/install-packages build test $(if $(WANTS_PROGRAMS),run) $(if $(INTEGRATION_SRC),integration) \
	    $(if $(filter tests/unit/tools/%,$(UNIT_SRC)),drift) $(API) $(BROWSER) $(filter valgrind,$(PROFILE))
	$(Q)$(MAKE) $(if $(WANTS_PROGRAMS),build) $(if $(INTEGRATION_SRC),$(SUPPORT_PROGRAMS)) \
	    $(if $(API),$(API_MODULES) $(CLIENTS)) $(if $(BROWSER),$(BROWSER_MODULES)) \
	    $(if $(filter $(OUT),$(TESTS_OUT)),$(TESTED))
ifneq ($(TESTS_OUT),$(OUT))
	$(Q)$(MAKE) $(TESTED) PROFILE=release TESTED_AS=$(PROFILE)
endif
	$(Q)tools/run-tests $(PROFILE) $(TESTED) $(API_SRC) $(BROWSER_SRC)

# Load, endurance and scale: tests that measure, and so need the machine to themselves.
test-long:
	$(if $(strip $(LONG_SRC) $(MEASURED_SRC) $(API_LONG_SRC)),,$(nothing))
	$(Q)tools/install-packages build test run integration $(if $(MEASURED_SRC),browser) $(if $(API_LONG_SRC),api) \
	    $(if $(filter %/failover_test.c,$(LONG_SRC)),failover)
	$(Q)$(MAKE) build $(if $(MEASURED_SRC),$(BROWSER_MODULES) $(MEASURED_MODULES)) $(if $(API_LONG_SRC),$(API_MODULES) $(CLIENTS)) \
	    $(patsubst %,$(OUT)/%run,$(sort $(dir $(LONG_SRC))))
	$(Q)tools/run-tests $(PROFILE)-long $(patsubst %,$(OUT)/%run,$(sort $(dir $(LONG_SRC)))) $(MEASURED_SRC) $(API_LONG_SRC)

# Long load with faults: whether anything grows or slows down.
ENDURANCE_SECONDS ?= $(if $(filter 1,$(TEST_LONG)),7200,300)
.PHONY: endurance
endurance:
	$(Q)tools/install-packages build test run
	$(Q)$(MAKE) build $(OUT)/tests/faults/run
	$(Q)ENDURANCE_SECONDS=$(ENDURANCE_SECONDS) TEST_TIMEOUT_S=$$(($(ENDURANCE_SECONDS) + 900)) \
	    tools/run-tests $(PROFILE)-endurance $(OUT)/tests/faults/run

# Checks that the test of faults finds bugs: runs it on services with a bug put in, which it must find each time.
# The short form has a few bugs.
MUTANTS ?= $(if $(filter 1,$(TEST_LONG)),,event-of-a-replay late-reply-called-unavailable update-lost)
.PHONY: test-mutants
test-mutants:
	$(Q)tools/install-packages build test run
	$(Q)$(MAKE) build $(OUT)/tests/faults/run
	$(Q)tests/faults/run-mutants $(MUTANTS)

# On other Debian releases, with other servers, for another processor; writes the table of docs/platforms.md.
.PHONY: test-platforms
test-platforms:
	$(Q)tools/install-packages platforms
	$(Q)tools/test-platforms $(PLATFORMS)

# -- fuzzing ---------------------------------------------------------------------------------------
# ONLY=PATTERN selects targets as it selects tests.
FUZZ_TARGETS := $(patsubst tests/fuzz/%_fuzz.c,%,$(shell ls tests/fuzz/*_fuzz.c | $(wanted)))
FUZZ_BIN = $(FUZZ_TARGETS:%=$(OUT)/bin/%_fuzz)
FUZZ_SHARED := $(patsubst %.c,$(OUT)/%.o,$(filter-out %_fuzz.c,$(wildcard tests/fuzz/*.c)))
SERVICE_OBJ = $(patsubst %.c,$(OUT)/%.o,$(filter-out %/main.c,$(wildcard services/*/*.c)))

$(OUT)/libservices.a: $(SERVICE_OBJ) $(foreach d,$(filter services/%,$(SQL_DIRS)),$(OUT)/gen/$(notdir $(d))_sql.o) $(OBJ_dashboard)
	$(Q)rm -f $@ && ar qcs $@ $^

$(FUZZ_BIN): $(OUT)/bin/%_fuzz: $(OUT)/tests/fuzz/%_fuzz.o $(FUZZ_SHARED) $(OUT)/libservices.a $(OUT)/libcommon.a
	$(Q)mkdir -p $(@D)
	@echo "LINK $(@F)"
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS) -lhttp_parser

.PHONY: fuzz fuzz-binaries fuzz-corpus fuzz-coverage
fuzz-binaries: $(FUZZ_BIN)
fuzz:
	$(if $(FUZZ_TARGETS),,$(nothing))
	$(Q)tools/install-packages build fuzz
	$(Q)$(MAKE) fuzz-binaries PROFILE=fuzz
	$(Q)tools/run-fuzz $(FUZZ_TARGETS)

# fuzz-coverage: how many lines of the parsers the corpora reach, by file; with V=1 also the lines that they do
# not reach. fuzz-corpus: adds inputs that `make fuzz` has found and that reach more.
fuzz-corpus fuzz-coverage: fuzz-%:
	$(Q)tools/install-packages build fuzz
	$(Q)$(MAKE) fuzz-binaries PROFILE=fuzz-coverage
	$(Q)tools/fuzz-$* $(FUZZ_TARGETS)

# -- running ---------------------------------------------------------------------------------------
# The stack ends with make, and gets Ctrl-C even if a script put make in the background.
.PHONY: run up down bench
run up:
	$(Q)deploy/local/stack check
	$(Q)tools/install-packages build run
	$(Q)$(MAKE) build
	$(Q)BIN_DIR='$(CURDIR)/$(OUT)/bin' exec env --default-signal=INT setpriv --pdeathsig TERM \
	    deploy/local/stack $@

down:
	$(Q)deploy/local/stack down

bench:
	$(Q)tools/install-packages build run bench
	$(Q)$(MAKE) build
	$(Q)tools/bench

# -- lint ------------------------------------------------------------------------------------------
ALL_C := $(sort $(shell find common proto services deploy tests -name node_modules -prune -o -name '*.c' -print))
ALL_H := $(sort $(shell find common proto services deploy tests -name node_modules -prune -o -name '*.h' -print))
# LINT=all checks all files, ONLY=PATTERN those whose path matches; by default those that differ from main.
ifneq ($(ONLY),)
LINTED := $(shell printf '%s\n' $(ALL_C) $(ALL_H) | $(wanted))
else ifeq ($(LINT),all)
LINTED = $(ALL_C) $(ALL_H)
else
LINTED = $(CHANGED)
endif
CHANGED := $(if $(filter lint%,$(MAKECMDGOALS)),$(shell tools/changed-files))
SCRIPTS := $(sort $(shell find tools tests deploy .ci docs -name node_modules -prune -o -type f -executable -print | \
             xargs grep -lE '^#!.*\b(ba)?sh\b')) $(wildcard deploy/local/lib/*.sh tools/*.sh)
YAML := $(shell find . -name '*.y*ml' -not -path './build/*' -not -path './.run*' -not -path '*/node_modules/*')
# The analyzer gives up a function after a third as many steps as by default, which takes a third of the time.
TIDY_FLAGS = -std=gnu17 -D_GNU_SOURCE -Wuninitialized -Xclang -analyzer-config -Xclang max-nodes=75000 -I. -I$(OUT)/gen $(PKG_CFLAGS)

.PHONY: lint lint-all lint-format lint-tidy lint-headers lint-shell lint-yaml lint-python lint-tree format
lint:
	$(if $(ONLY),$(if $(strip $(LINTED)),,$(nothing)))
	$(Q)tools/install-packages build test lint
	$(Q)rm -rf build/findings
	$(Q)$(MAKE) -k lint-all || { echo 'lint: all findings again:'; cat build/findings/* 2>/dev/null; exit 1; }
	@echo "lint: no findings in $(words $(sort $(LINTED))) C files, $$(($$(date +%s) - MAKE_STARTED)) s"

lint-all: lint-format lint-tidy lint-headers lint-shell lint-yaml lint-python lint-tree

lint-format:
	$(Q)$(if $(LINTED),tools/checked format sh -c \
	    'clang-format --dry-run -Werror "$$@" || { echo "run make format to fix these"; exit 1; }' - $(sort $(LINTED)))

format:
	$(Q)clang-format -i $(ALL_C) $(ALL_H)

# Checked again when its object is rebuilt: then the file, one of its headers or the flags have changed.
lint-tidy: $(patsubst %.c,$(OUT)/tidy/%.ok,$(sort $(filter %.c,$(LINTED))))
$(OUT)/tidy/%.ok: %.c $(OUT)/%.o tools/tidy $(wildcard .clang-tidy */.clang-tidy */*/.clang-tidy)
	$(Q)mkdir -p $(@D)
	@echo "TIDY $<"
	$(Q)tools/checked tidy.$< tools/tidy $< $(OUT)/$*.d $(TIDY_CHECKS) -- $(TIDY_FLAGS)
	$(Q)touch $@
# The analyzer follows h2o's intrusive lists into items that were unlinked before they were freed, and reports
# this in h2o's header; the suite also runs under AddressSanitizer, which checks the actual accesses.
$(OUT)/tidy/common/http/edge.ok $(OUT)/tidy/common/http/lingering_close.ok: \
    TIDY_CHECKS = --checks=-clang-analyzer-unix.Malloc

# Every header compiles alone.
lint-headers: $(patsubst %,$(OUT)/headers/%.ok,$(sort $(filter %.h,$(LINTED))))
$(OUT)/headers/%.ok: % $(OUT)/flags | $(SQL_HEADERS)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include "$<"' | tools/checked header.$< $(CC) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -MF $(@:.ok=.d) -MT $@ -fsyntax-only -x c -
	$(Q)touch $@

lint-shell:
	$(Q)tools/checked shell shellcheck -x $(SCRIPTS)

lint-yaml:
	$(Q)$(if $(YAML),tools/checked yaml yamllint -s $(YAML),true)

# The types of the client in Python; those of the one in TypeScript are checked when it is built.
lint-python:
	$(Q)tools/checked python mypy --no-error-summary --config-file clients/python/pyproject.toml --cache-dir build/mypy clients/python/src

# Checks that places which repeat something agree. Each check prints all its findings, and none depends on
# another: one run names every place that a change has forgotten.
DRIFT := contract pages settings compose kubernetes cells systemd changelog
.PHONY: check-drift drift lint-budget lint-fuzz lint-layers lint-length lint-limits lint-migrations lint-mutants \
    lint-tests lint-tour lint-words $(DRIFT:%=drift-%)
check-drift:
	$(Q)tools/install-packages build drift
	$(Q)$(MAKE) -k -O drift
	@echo "check-drift: no findings"

drift: $(DRIFT:%=drift-%)
drift-settings drift-compose drift-kubernetes drift-cells drift-systemd: build
drift-settings:
	$(Q)tools/checked settings tools/describe-settings --check
drift-contract drift-pages drift-compose drift-kubernetes drift-cells drift-systemd drift-changelog: drift-%:
	$(Q)tools/checked $* tools/check-$*

lint-tree: drift lint-budget lint-fuzz lint-layers lint-length lint-limits lint-migrations lint-mutants lint-tests \
    lint-tour lint-words
lint-mutants:
	$(Q)tools/checked mutants tests/faults/run-mutants --check
lint-budget lint-fuzz lint-layers lint-length lint-limits lint-migrations lint-tests lint-tour lint-words: lint-%:
	$(Q)tools/checked $* tools/check-$*

# Regenerates the page of all settings, from the programs' own descriptions; the users of the bus; a second cell;
# and the rules for alerts, for the Prometheus operator.
.PHONY: settings
settings: build
	$(Q)tools/describe-settings
	$(Q)$(OUT)/bin/nats-config >deploy/kubernetes/base/users.conf
	$(Q)NATS_CONFIG=$(OUT)/bin/nats-config deploy/kubernetes/make-cells cell2
	$(Q)tools/monitoring-rule >deploy/monitoring/prometheus-rule.yaml

.PHONY: help
help:
	@echo 'make run          build, start everything in the foreground; Ctrl-C stops it'
	@echo 'make up, down     the same in the background'
	@echo 'make test         all tests of behaviour, on private stacks (PROFILE=asan, tsan or valgrind);'
	@echo '                  ONLY=PATTERN runs the tests whose path matches'
	@echo 'make test-long    load, endurance and scale tests, which need the machine to themselves'
	@echo 'make test-mutants checks that the fault tests find injected bugs'
	@echo 'make test-platforms runs the tests on other Debian releases and with other servers, as root'
	@echo 'make endurance    checks that nothing grows or slows down in ENDURANCE_SECONDS of load and faults'
	@echo '                  TEST_LONG=1 runs the long form of these three'
	@echo 'make build        builds the programs into build/bin; make clean removes build'
	@echo 'make lint         formatting and static analysis of the files changed since main; LINT=all: of'
	@echo '                  all files; ONLY=PATTERN: of files that match. make format formats the C files'
	@echo 'make check-drift  finds commands, settings, error codes, columns and pages that are not registered'
	@echo '                  or documented everywhere'
	@echo 'make bench        requests per second and CPU per request'
	@echo 'make fuzz         fuzzes every parser of untrusted input (FUZZ_SECONDS, FUZZ_RUNS);'
	@echo '                  make fuzz-coverage shows the code that the corpora cover'
	@echo 'make screenshots  takes docs/screenshots again'
	@echo 'make settings     generates docs/settings.md, the users of the bus and the alert rules'
	@echo 'V=1 shows commands. Settings are in docs/settings.md, such as GATEWAY_PORT and RUN_DIR;'
	@echo 'docs/troubleshooting.md lists common problems.'

.PHONY: clean
clean:
	$(Q)rm -rf build compile_commands.json clients/typescript/dist

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
