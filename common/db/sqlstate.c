#include "common/db/sqlstate.h"

#include <stddef.h>
#include <string.h>

/* A code, or the first characters of a family of codes. */
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
    {"0A000", ST_UNAVAILABLE, true},  /* a cached plan's result type changed: prepare again */
    {"26000", ST_UNAVAILABLE, true},  /* the prepared statement is gone: prepare again */
};

static const struct meaning *meaning_of(const char *sqlstate)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (strncmp(sqlstate, meanings[i].code, strlen(meanings[i].code)) == 0)
            return &meanings[i];
    return NULL;
}

enum status sqlstate_status(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning ? meaning->status : ST_INTERNAL;
}

bool sqlstate_ends_link(const char *sqlstate)
{
    const struct meaning *meaning = meaning_of(sqlstate);

    return meaning && meaning->ends_link;
}
