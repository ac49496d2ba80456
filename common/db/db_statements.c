/* The statements of a link: those of the registry, and our own after them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/db/db_link.h"
#include "common/db/db_session.h"

bool db_columns_are(const PGresult *result, const char *columns, char why[256])
{
    const char *next = columns != NULL ? columns : "";

    for (int i = 0;; i++) {
        const char *name = i < PQnfields(result) ? PQfname(result, i) : "";
        const size_t n = strcspn(next, " ");

        if (strlen(name) != n || strncmp(name, next, n) != 0) {
            snprintf(why, 256, "column %d is \"%s\", not \"%.*s\"", i + 1, name, (int)n, next);
            return false;
        }
        if (n == 0)
            return true;
        next += n + strspn(next + n, " ");
    }
}

static const struct db_statement own_statements[LINK_STATEMENTS] = {
    [LINK_BEGIN] = {.name = "db_begin", .text = "BEGIN"},
    [LINK_COMMIT] = {.name = "db_commit", .text = "COMMIT"},
    [LINK_ROLLBACK] = {.name = "db_rollback", .text = "ROLLBACK"},
};

int db_link_statement(const struct db_link *link, enum link_statement statement)
{
    return (int)link->options.n_statements + (int)statement;
}

const struct db_statement *db_link_statement_at(const struct db_link *link, size_t i)
{
    const size_t n = link->options.n_statements;

    return i < n ? &link->options.statements[i] : &own_statements[i - n];
}

const char *db_link_statement_name(const struct db_link *link, int statement)
{
    return db_link_statement_at(link, (size_t)statement)->name;
}

bool db_link_send_statements(struct db_link *link)
{
    char *settings = db_session_query();
    const bool is_sent =
        PQsendQueryParams(link->conn, settings, 0, NULL, NULL, NULL, NULL, 0 /* as text */);

    free(settings);
    if (!is_sent)
        return false;
    for (size_t i = 0; i < link->options.n_statements + LINK_STATEMENTS; i++) {
        const struct db_statement *statement = db_link_statement_at(link, i);

        if (!PQsendPrepare(link->conn, statement->name, statement->text, 0, NULL) ||
            !PQsendDescribePrepared(link->conn, statement->name))
            return false;
    }
    return PQpipelineSync(link->conn);
}
