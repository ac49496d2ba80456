# Targets: run up down test build bench fuzz lint format check clean. See README.md.
MAKEFLAGS += -rR --no-print-directory
.DELETE_ON_ERROR:
.SUFFIXES:

PROFILE ?= release
OUT      = build/$(PROFILE)
ifeq ($(V),1)
Q =
else
Q = @
endif

CC = gcc
PKGS = libh2o-evloop jansson libpq openssl
# libh2o's headers default to libuv, and are not clean under our warnings: hence -isystem.
PKG_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS) 2>/dev/null)) -DH2O_USE_LIBUV=0
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lnats -lpthread

WARNINGS = -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wconversion \
           -Wvla -Wformat=2 -Wundef -Wwrite-strings -Wno-unused-parameter
CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fno-omit-frame-pointer
CFLAGS_asan    = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan    = -O1 -g -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_coverage = -O0 -g --coverage
CFLAGS  = -std=gnu17 -D_GNU_SOURCE -pthread -fPIE -I. -I$(OUT)/gen $(WARNINGS) $(CFLAGS_$(PROFILE)) $(EXTRA_CFLAGS)
LDFLAGS = -pie -pthread -Wl,-z,relro,-z,now -rdynamic $(CFLAGS_$(PROFILE)) $(EXTRA_LDFLAGS)

COMMON_SRC := $(sort $(wildcard common/*/*.c) $(wildcard proto/*.c))
COMMON_OBJ  = $(COMMON_SRC:%.c=$(OUT)/%.o)
# One program a folder under services/ that has a main.c.
PROGRAMS := $(patsubst services/%/main.c,%,$(sort $(wildcard services/*/main.c)))
BINARIES  = $(PROGRAMS:%=$(OUT)/bin/%)
# Folders with an sql/ subfolder get a registry NAME_sql.[ch] made from it.
SQL_DIRS := $(sort $(patsubst %/sql/,%,$(dir $(wildcard services/*/sql/*.sql common/*/sql/*.sql))))
SQL_HEADERS := $(foreach d,$(SQL_DIRS),$(OUT)/gen/$(notdir $(d))_sql.h)

.PHONY: build
build: $(BINARIES) $(OUT)/bin/supervisor
ifeq ($(PROFILE),release)
	$(Q)mkdir -p build && ln -sfn release/bin build/bin
endif

$(OUT)/flags: FORCE
	$(Q)mkdir -p $(@D) && echo '$(CC) $(CFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(LDFLAGS)' > $@
FORCE:

$(OUT)/%.o: %.c $(OUT)/flags | $(SQL_HEADERS)
	$(Q)mkdir -p $(@D)
	@echo "CC   $<"
	$(Q)$(CC) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

define sql_registry
$(OUT)/gen/$(notdir $(1))_sql.h $(OUT)/gen/$(notdir $(1))_sql.c &: $(wildcard $(1)/sql/*.sql) tools/embed-sql $(1)/sql
	$$(Q)mkdir -p $(OUT)/gen
	@echo "SQL  $(1)"
	$$(Q)tools/embed-sql $(notdir $(1)) $(OUT)/gen $$(filter %.sql,$$^)
$(OUT)/gen/$(notdir $(1))_sql.o: $(OUT)/gen/$(notdir $(1))_sql.c $(OUT)/flags
	$$(Q)$$(CC) $$(CFLAGS) -c -o $$@ $$<
endef
$(foreach d,$(SQL_DIRS),$(eval $(call sql_registry,$(d))))

define program
$(OUT)/bin/$(1): $(patsubst %.c,$(OUT)/%.o,$(wildcard services/$(1)/*.c)) $(if $(wildcard services/$(1)/sql/*.sql),$(OUT)/gen/$(1)_sql.o) $(OUT)/libcommon.a
	$$(Q)mkdir -p $$(@D)
	@echo "LINK $(1)"
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(PKG_LIBS)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program,$(p))))

# All services' migrations, in the order in which they are applied, inside the one migrate program.
MIGRATED := access audit webhook conversation search
$(OUT)/gen/migrations.c: $(wildcard services/*/migrations services/*/migrations/*.sql) tools/embed-migrations
	$(Q)mkdir -p $(@D)
	@echo "SQL  migrations"
	$(Q)tools/embed-migrations $@ $(MIGRATED)
$(OUT)/gen/migrations.o: $(OUT)/gen/migrations.c $(OUT)/flags
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<
$(OUT)/bin/migrate: $(OUT)/gen/migrations.o

$(OUT)/libcommon.a: $(COMMON_OBJ) $(foreach d,$(filter common/%,$(SQL_DIRS)),$(OUT)/gen/$(notdir $(d))_sql.o)
	$(Q)rm -f $@ && ar rcs $@ $^

# -- tests -----------------------------------------------------------------------------------------
UNIT_SRC := $(sort $(wildcard tests/unit/*_test.c tests/unit/*/*_test.c tests/unit/*/*/*_test.c))
UNIT_BIN  = $(UNIT_SRC:%.c=$(OUT)/%)
# A unit test of services/X/ links that service's objects, main.c apart.
service_of = $(firstword $(subst /, ,$(patsubst tests/unit/services/%,%,$(filter tests/unit/services/%,$(1)))))
define unit
$(OUT)/$(1:.c=): $(OUT)/$(1:.c=.o) $(if $(call service_of,$(1)),$(patsubst %.c,$(OUT)/%.o,$(filter-out %/main.c,$(wildcard services/$(call service_of,$(1))/*.c))) $(if $(wildcard services/$(call service_of,$(1))/sql/*.sql),$(OUT)/gen/$(call service_of,$(1))_sql.o)) $(OUT)/libsupport.a $(OUT)/libcommon.a
	@echo "LINK $(1:.c=)"
	$$(Q)$$(CC) $$(LDFLAGS) -o $$@ $$^ -lcriterion $$(PKG_LIBS)
endef
$(foreach t,$(UNIT_SRC),$(eval $(call unit,$(t))))

# An archive: a test links only what it uses of it.
$(OUT)/libsupport.a: $(patsubst %.c,$(OUT)/%.o,$(sort $(wildcard tests/support/*.c)))
	$(Q)rm -f $@ && ar rcs $@ $^

.PHONY: unit-binaries
unit-binaries: $(UNIT_BIN)

.PHONY: clean
clean:
	$(Q)rm -rf build

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
