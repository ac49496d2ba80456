#include "common/db/db_reasons.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/str.h"

enum { COMPLAINT_SPACING_US = 10 * 1000 * 1000 };

void db_reasons_add(struct db_reasons *reasons, const char *message)
{
    const struct str line = {message, strcspn(message, "\n")};
    const size_t n = strlen(reasons->text), left = sizeof(reasons->text) - n;

    (void)snprintf(reasons->text + n, left, "%s%.*s", n > 0 ? "; " : "", STR_ARG(line));
}

void db_reasons_add_ours(struct db_reasons *reasons, const struct db_hosts *hosts,
                         const PGconn *conn, const char *why)
{
    const struct address *ip = db_hosts_address(hosts);
    char named[320], address[ADDRESS_TEXT + sizeof(" ()")] = "", text[ADDRESS_TEXT];

    if (ip != NULL) {
        address_format(ip, text);
        (void)snprintf(address, sizeof(address), " (%s)", text);
    }
    if (conn == NULL)
        (void)snprintf(named, sizeof(named), "server at \"%s\": %s", db_hosts_current(hosts)->host,
                       why);
    else
        (void)snprintf(named, sizeof(named), "server at \"%s\"%s, port %s: %s", PQhost(conn),
                       address, PQport(conn), why);
    db_reasons_add(reasons, named);
}

void db_reasons_note_statement(struct db_reasons *reasons, const char *statement,
                               const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (reasons->statement != NULL)
        return;
    reasons->statement = statement;
    (void)snprintf(reasons->sqlstate, sizeof(reasons->sqlstate), "%s",
                   sqlstate != NULL ? sqlstate : "");
}

void db_reasons_note_objection(struct db_reasons *reasons, const char *objection)
{
    reasons->objection = objection;
}

bool db_reasons_may_complain(struct db_reasons *reasons)
{
    const int64_t now_us = clock_mono_us();

    if (now_us < reasons->next_complaint_us)
        return false;
    reasons->next_complaint_us = now_us + COMPLAINT_SPACING_US;
    return true;
}

static void forget(struct db_reasons *reasons)
{
    reasons->text[0] = reasons->sqlstate[0] = '\0';
    reasons->statement = reasons->objection = NULL;
}

void db_reasons_end_round(struct db_reasons *reasons, const struct db_hosts *hosts)
{
    reasons->trouble = reasons->objection;
    if (db_reasons_may_complain(reasons))
        LOG(LOG_WARNING,
            reasons->trouble != NULL || hosts->lacks_role ? db_reasons_trouble(reasons, hosts)
                                                          : "database is unreachable; retrying",
            log_str("statement", reasons->statement),
            log_str("sqlstate", reasons->sqlstate[0] != '\0' ? reasons->sqlstate : NULL),
            log_str("reason", reasons->text));
    forget(reasons);
}

void db_reasons_clear(struct db_reasons *reasons)
{
    *reasons = (struct db_reasons){.next_complaint_us = 0};
}

const char *db_reasons_trouble(const struct db_reasons *reasons, const struct db_hosts *hosts)
{
    return reasons->trouble != NULL ? reasons->trouble : db_hosts_trouble(hosts);
}
