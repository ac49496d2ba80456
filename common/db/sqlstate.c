#include "common/db/sqlstate.h"

#include <string.h>

#include "common/base/str.h"

/* A code, or the prefix of a class of codes. */
struct meaning {
    const char *code;
    enum status status;
    bool ends_link;
};

static const struct meaning meanings[] = {
    {"23505", ST_RETRY, false},       /* unique_violation */
    {"40001", ST_RETRY, false},       /* serialization_failure */
    {"40P01", ST_RETRY, false},       /* deadlock_detected */
    {"55P03", ST_RETRY, false},       /* lock_not_available */
    {"57014", ST_UNAVAILABLE, false}, /* query_canceled: statement_timeout */
    {"53", ST_UNAVAILABLE, false},    /* out of disk, memory or connections */
    {"57P0", ST_UNAVAILABLE, true},   /* shutting down, crashed, starting up, dropped */
    {"08", ST_UNAVAILABLE, true},     /* connection exceptions */
    {"25006", ST_UNAVAILABLE, true},  /* read only: this server is a standby now */
    {"CM001", ST_UNAVAILABLE, false}, /* cell.admit(): another cell serves the organization */
    {"26000", ST_UNAVAILABLE, true},  /* the prepared statement is gone: prepare again */
};

static const struct meaning *meaning_of(const char *sqlstate)
{
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
        if (strncmp(sqlstate, meanings[i].code, strlen(meanings[i].code)) == 0)
            return &meanings[i];
    return NULL;
}

enum status sqlstate_status(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning != NULL ? meaning->status : ST_INTERNAL;
}

bool sqlstate_ends_link(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning != NULL && meaning->ends_link;
}
