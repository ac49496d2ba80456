#include "proto/outcome.h"

struct row {
    struct str name;
    int http_status;
    const char *code;
    bool audited;
};

static const struct row rows[OUTCOME_COUNT] = {
#define OUTCOME(symbol, name, status, code, audited, seen_by)                                      \
    [symbol] = {{name, sizeof(name) - 1}, status, code, audited},
#include "proto/outcome.def"
#undef OUTCOME
};

const char *outcome_name(enum outcome outcome)
{
    return rows[outcome].name.p;
}

int outcome_http_status(enum outcome outcome)
{
    return rows[outcome].http_status;
}

const char *outcome_code(enum outcome outcome)
{
    return rows[outcome].code;
}

bool outcome_is_audited(enum outcome outcome)
{
    return rows[outcome].audited;
}

bool outcome_of(struct str name, enum outcome *out)
{
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        if (str_equal(rows[i].name, name)) {
            *out = (enum outcome)i;
            return true;
        }
    }
    return false;
}
