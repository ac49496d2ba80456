/*
 * The steps that all commands share: from a parsed command to its statement, and from the returned
 * row to the reply; and the deletion of expired rows.
 */
#include "services/access/access.h"

#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "proto/subject.h"

/* -- members of a body ------------------------------------------------------------------------- */

/* Text, one @, text; no blanks and no control characters. */
static bool is_email(struct str text)
{
    struct str rest = text, local;

    if (text.p == NULL || text_length(text) > 255)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f)
            return false;
    }
    local = str_cut(&rest, '@');
    return local.n > 0 && rest.p != NULL && rest.n > 0 && memchr(rest.p, '@', rest.n) == NULL &&
           !text_has_outer_space(text);
}

void input_email(json_t *value, const char *path, void *slot, struct errors *errors)
{
    struct str text = json_text(value);

    if (!is_email(text)) {
        errors_add(errors, "parameter_invalid", path,
                   "must be an email address of at most 255 characters");
        return;
    }
    *(struct str *)slot = text_lower(errors->arena, text);
}

void input_hash(json_t *value, const char *path, void *slot, struct errors *errors)
{
    uint8_t hash[SHA256_BYTES];
    struct str text = json_text(value);

    if (!hex_read(text, hash, sizeof(hash))) {
        errors_add(errors, "parameter_invalid", path,
                   "must be a SHA-256 in lower-case hexadecimal digits");
        return;
    }
    *(struct str *)slot = arena_str(errors->arena, text);
}

void input_address(json_t *value, const char *path, void *slot, struct errors *errors)
{
    char *text = arena_alloc(errors->arena, ADDRESS_TEXT);
    struct address address;

    if (!address_parse(json_text(value), &address)) {
        errors_add(errors, "parameter_invalid", path, "must be one exact IPv4 or IPv6 address");
        return;
    }
    address_format(&address, text);
    *(struct str *)slot = str_of(text);
}

struct str input_exact_id(struct str id)
{
    struct uuid parsed;

    return id.p == NULL || uuid_parse(id, &parsed) ? id
                                                   : STR("00000000-0000-0000-0000-000000000000");
}

/* -- query and reply --------------------------------------------------------------------------- */

/* The lock_order of commands that lock rows has this bit: a batch runs them after grants, which
   take advisory locks. */
#define ORDER_OF_ROWS (UINT64_C(1) << 63)

/* Results of statements that did not do their work. The others are "ok" and "same", which means
   that nothing had to change. */
static const struct operator_result results[] = {
    {STR("empty_allowlist"), OUTCOME_PARAMETER_INVALID, "ip_allowlist",
     "must not be empty while the allowlist is enabled"},
    {STR("would_lock_out"), OUTCOME_WOULD_LOCK_OUT, "ip_allowlist",
     "would block your own address; confirm to continue"},
    {STR("last_owner"), OUTCOME_LAST_OWNER, NULL, "An organization must have at least one owner"},
    {STR("insufficient_role"), OUTCOME_INSUFFICIENT_ROLE, NULL, "Your role does not allow this"},
    {STR("key_ended"), OUTCOME_CONFLICT, NULL, "The key was revoked or has expired"},
    {STR("conflict"), OUTCOME_CONFLICT, NULL,
     "The organization is not being moved, its move is at another step, or it is already in that "
     "cell"},
    {STR("email_taken"), OUTCOME_CONFLICT, "email", "belongs to another user of the organization"},
};

/* The last 8 bytes of an id are random. */
static uint64_t number_of(const struct uuid *organization_id)
{
    uint64_t number;

    memcpy(&number, organization_id->b + 8, sizeof(number));
    return number;
}

uint64_t access_order_of_grants(const struct uuid *organization_id)
{
    return (number_of(organization_id) & ~ORDER_OF_ROWS) | 1;
}

struct operator_query *access_for_organization(struct command *command, enum access_sql statement)
{
    command->lock_order = number_of(&command->caller.organization_id) | ORDER_OF_ROWS;
    return operator_query_for(command, (int)statement);
}

void access_lock(struct operator_query *query)
{
    query->has_lock = true;
    query->lock_statement = SQL_LOCK_ORGANIZATION;
    query->n_lock_params = 1;
}

static enum status reply(struct command *command, struct db *db, enum outcome no_row,
                         const char *message)
{
    return operator_reply(
        command, db, &(struct operator_results){results, ARRAY_SIZE(results), no_row, message});
}

enum status access_refuse_role(struct command *command)
{
    return operator_refuse(command, STR("insufficient_role"),
                           &(struct operator_results){results, ARRAY_SIZE(results), 0, NULL});
}

enum status access_reply(struct command *command, struct db *db, void *service)
{
    return reply(command, db, OUTCOME_NOT_FOUND,
                 "The organization or the named resource does not exist");
}

enum status access_reply_change(struct command *command, struct db *db, void *service)
{
    enum status st = access_reply(command, db, service);

    /* Only after a change: the notice makes gateways look up all the organization's keys again. */
    if (st == ST_OK && !command->is_no_change)
        command->notice = SUBJECT_NOTICE_ACCESS;
    return st;
}

enum status access_authenticate_reply(struct command *command, struct db *db, void *service)
{
    return reply(command, db, OUTCOME_UNAUTHORIZED, "The API key is not valid");
}

enum status access_session_check_reply(struct command *command, struct db *db, void *service)
{
    return reply(command, db, OUTCOME_UNAUTHORIZED, "The session has ended");
}

/* -- upkeep ------------------------------------------------------------------------------------ */

enum {
    WINDOW_S = 10,
    KEEP_WINDOWS = 6,
    MINUTE_S = 60,
    HOUR_S = 60 * 60,
    KEEP_MINUTES = 1,
    KEEP_USAGE_MINUTES = 8 * 24 * 60,
    LATE_S = 60,     /* rows may still come for a time so long before */
    ROWS_MAX = 1000, /* at once, because others wait */
    TIMEOUT_US = 5 * 1000 * 1000,
};

/* Runs a statement whose last parameter bounds its rows; *is_done = false if there may be more. */
static enum status clean_some(struct db *db, struct arena *arena, int statement,
                              struct params *params, bool *is_done)
{
    enum status st;

    params_add_int(params, arena, ROWS_MAX);
    st = db_once(db, statement, params, TIMEOUT_US);
    if (st == ST_OK && db_rows_affected(db_result(db, 0)) >= ROWS_MAX)
        *is_done = false;
    return st;
}

/* From which window or minute on rows may be, to one that is to be kept. Once an hour from the first:
   a gateway whose clock is slow leaves rows for times before. */
static void add_span(struct params *params, struct arena *arena, const struct access *self,
                     int64_t now_s, int unit_s, int keep)
{
    const bool is_first_of_hour = self->cleaned_s / HOUR_S != now_s / HOUR_S;

    params_add_int(params, arena, now_s / unit_s - keep);
    params_add_int(params, arena,
                   is_first_of_hour ? 0 : (self->cleaned_s - LATE_S) / unit_s - keep);
}

static enum status clean(struct db *db, struct arena *arena, struct access *self, bool *is_done)
{
    const int64_t now_s = clock_us() / 1000000;
    struct params windows = {0}, minutes = {0}, sessions = {0}, networks = {0}, usage = {0};
    enum status st;

    add_span(&windows, arena, self, now_s, WINDOW_S, KEEP_WINDOWS);
    st = db_once(db, SQL_CLEAN_QUOTA, &windows, TIMEOUT_US);
    add_span(&minutes, arena, self, now_s, MINUTE_S, KEEP_MINUTES);
    if (st == ST_OK)
        st = db_once(db, SQL_CLEAN_ATTEMPTS, &minutes, TIMEOUT_US);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_SESSIONS, &sessions, is_done);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_SIGN_IN_NETWORKS, &networks, is_done);
    add_span(&usage, arena, self, now_s, MINUTE_S, KEEP_USAGE_MINUTES);
    if (st == ST_OK)
        st = clean_some(db, arena, SQL_CLEAN_USAGE, &usage, is_done);
    if (st == ST_OK && *is_done)
        self->cleaned_s = now_s;
    return st;
}

void access_upkeep(struct db *db, struct arena *arena, void *service)
{
    struct access *self = service;
    bool is_done = true;
    enum status st;

    if (clock_mono_us() < self->upkeep_due_us || !db_is_up(db))
        return;
    st = clean(db, arena, self, &is_done);
    self->upkeep_due_us = is_done ? clock_mono_us() + WINDOW_S * 1000000LL : 0;
    if (st != ST_OK)
        LOG(LOG_WARNING, "could not delete expired rows; retrying in ten seconds",
            log_str("status", status_name(st)));
    if (st == ST_OK && access_busiest_read(db, arena, self) != ST_OK)
        LOG(LOG_WARNING, "could not read the busiest organizations; retrying in ten seconds");
}
