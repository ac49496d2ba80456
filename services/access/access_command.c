/*
 * The steps that all commands share: from a parsed command to its statement, and from the row that
 * comes back to the reply.
 */

#include "services/access/access_command.h"

#include <string.h>

#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/uuid.h"
#include "common/crypto/crypto.h"
#include "common/json/fields.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "services/access/access.h"

/* Something, one @, something; no blanks and no control characters anywhere. */
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

    if (!crypto_unhex(text, hash, sizeof(hash))) {
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

/* A batch takes the advisory locks of grants first, and then whatever locks rows. */
#define ORDER_OF_ROWS (UINT64_C(1) << 63)

enum { RESULT, REPLY, SCOPE };

/* What a statement found instead of doing its work; besides these there are "ok" and "same", which
   found it done. */
static const struct access_result {
    struct str name;
    enum outcome outcome;
    const char *field, *message;
} results[] = {
    {STR("empty_allowlist"), OUTCOME_PARAMETER_INVALID, "ip_allowlist",
     "must not be empty while the allowlist is enabled"},
    {STR("would_lock_out"), OUTCOME_WOULD_LOCK_OUT, "ip_allowlist",
     "would block your own address; confirm to continue"},
    {STR("last_owner"), OUTCOME_LAST_OWNER, NULL, "An organization must have at least one owner"},
    {STR("insufficient_role"), OUTCOME_INSUFFICIENT_ROLE, NULL, "Your role does not allow this"},
    {STR("key_ended"), OUTCOME_CONFLICT, NULL, "The key was revoked or has expired"},
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

struct access_query *access_for_organization(struct command *command, enum access_sql statement)
{
    struct access_query *query;

    if (uuid_is_nil(&command->caller.organization_id)) {
        command_refuse(command, OUTCOME_PARAMETER_NOT_FOUND, HEADER_ORGANIZATION, "is required");
        return NULL;
    }
    query = ARENA_NEW(command->arena, struct access_query);
    query->statement = statement;
    command->lock_order = number_of(&command->caller.organization_id) | ORDER_OF_ROWS;
    params_add_id(&query->params, command->arena, &command->caller.organization_id);
    command->state = query;
    return query;
}

struct list_body {
    struct str before;
};

static const struct field list_fields[] = {
    {.name = "before", .kind = FIELD_UUID, .offset = offsetof(struct list_body, before)},
};

enum status access_list_before(struct command *command, struct access_query *query)
{
    struct str body = command->body.n > 0 ? command->body : STR("{}");
    struct list_body body_fields = {0};

    if (!fields_read_body(body, list_fields, 1, &body_fields, &command->errors))
        return command_refuse_all(command, fields_outcome(&command->errors));
    params_add(&query->params, body_fields.before);
    return ST_OK;
}

void access_query(struct command *command, struct db *db, void *service)
{
    struct access_query *query = command->state;

    if (query->locks)
        db_add(db, SQL_LOCK_ORGANIZATION, query->params.at, 1);
    query->index = db_add(db, (int)query->statement, query->params.at, query->params.n);
}

void access_write(struct command *command, struct str object, const char *name, struct str secret)
{
    if (name == NULL) {
        buf_add(&command->reply, object);
        return;
    }
    must(object.n > 2 && object.p[object.n - 1] == '}');
    object.n--;
    buf_add(&command->reply, object);
    json_add_key(&command->reply, name);
    json_add_string(&command->reply, secret);
    buf_char(&command->reply, '}');
}

static void write_reply(struct command *command, const struct access_query *query,
                        const struct db_rows *rows)
{
    struct str object = db_value(rows, 0, REPLY);
    bool of_reader =
        query->secret_of_reader.n > 0 && str_equal(db_value(rows, 0, SCOPE), STR("read"));

    access_write(command, object, query->secret_name,
                 of_reader ? query->secret_of_reader : query->secret);
}

static enum status refuse_result(struct command *command, struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
        const struct access_result *result = &results[i];

        if (str_equal(name, result->name))
            return command_refuse(command, result->outcome, result->field, "%s", result->message);
    }
    log_bug("a result of the statement's is in the table", __FILE__, __LINE__);
}

enum status access_refuse_role(struct command *command)
{
    return refuse_result(command, STR("insufficient_role"));
}

static enum status reply(struct command *command, struct db *db, enum outcome none,
                         const char *none_message)
{
    const struct access_query *query = command->state;
    const struct db_rows *rows = db_result(db, query->index);
    struct str result;

    if (db_rows_count(rows) == 0)
        return command_refuse(command, none, NULL, "%s", none_message);
    result = db_value(rows, 0, RESULT);
    command->is_no_change = str_equal(result, STR("same"));
    if (!str_equal(result, STR("ok")) && !command->is_no_change)
        return refuse_result(command, result);
    write_reply(command, query, rows);
    return ST_OK;
}

enum status access_reply(struct command *command, struct db *db, void *service)
{
    return reply(command, db, OUTCOME_NOT_FOUND,
                 "The organization or the named resource does not exist");
}

enum status access_reply_change(struct command *command, struct db *db, void *service)
{
    enum status st = access_reply(command, db, service);

    /* Without a change there is nothing to invalidate: each gateway looks up again all keys of the
       organization. */
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
