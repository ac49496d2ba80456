#include "services/audit/audit_query.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/json/json.h"
#include "proto/outcome.h"

/* No parameter has a longer name; a longer one is not repeated to the client. */
#define NAME_LIMIT 64

struct query_parameter {
    const char *name;
    /* NULL, or what the value must be. */
    const char *(*read)(struct str value, struct audit_query *out);
};

static const char *read_per_page(struct str value, struct audit_query *out)
{
    uint64_t n;

    if (!str_to_u64(value, AUDIT_PER_PAGE_MAX, &n) || n < 1)
        return "must be an integer from 1 to 100";
    out->per_page = (int)n;
    return NULL;
}

static const char *read_starting_after(struct str value, struct audit_query *out)
{
    out->starting_after = value;
    return NULL;
}

static const char *read_operation(struct str value, struct audit_query *out)
{
    enum operation operation;

    if (value.n == 0 || !operation_of(value, &operation))
        return "must be ping, conversation.create, conversation.get, conversation.update, "
               "conversation.search, audit.list or unknown";
    out->operation = value;
    return NULL;
}

static const char *read_outcome(struct str value, struct audit_query *out)
{
    static const char *const outcomes[] = {"allowed", "denied", "rejected", "error"};

    for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
        if (str_equal(value, str_of(outcomes[i]))) {
            out->outcome = value;
            return NULL;
        }
    }
    return "must be allowed, denied, rejected or error";
}

static const char *read_uuid(struct str value, struct str *out)
{
    struct uuid id;

    if (!uuid_parse(value, &id))
        return "must be a UUID in lower case";
    *out = value;
    return NULL;
}

static const char *read_api_key_id(struct str value, struct audit_query *out)
{
    return read_uuid(value, &out->api_key_id);
}

static const char *read_conversation_id(struct str value, struct audit_query *out)
{
    return read_uuid(value, &out->conversation_id);
}

static const char *read_seconds(struct str value, int64_t *out)
{
    uint64_t seconds;

    if (!str_to_u64(value, UNIX_SECONDS_MAX, &seconds))
        return UNIX_SECONDS_ERROR;
    *out = (int64_t)seconds;
    return NULL;
}

static const char *read_after(struct str value, struct audit_query *out)
{
    return read_seconds(value, &out->after_s);
}

static const char *read_before(struct str value, struct audit_query *out)
{
    return read_seconds(value, &out->before_s);
}

static const struct query_parameter parameters[] = {
    {"per_page", read_per_page},      {"starting_after", read_starting_after},
    {"operation", read_operation},    {"outcome", read_outcome},
    {"api_key_id", read_api_key_id},  {"conversation_id", read_conversation_id},
    {"created_at_after", read_after}, {"created_at_before", read_before},
};
enum { PARAMETERS = ARRAY_SIZE(parameters) };

static bool decode(struct str raw, struct arena *arena, struct str *out)
{
    return text_decode_form(raw, arena_alloc(arena, raw.n + 1), raw.n, out);
}

static void complain(struct errors *errors, struct arena *arena, struct str name,
                     const char *message)
{
    const char *field = NULL;

    if (name.n <= NAME_LIMIT && text_is_utf8(name) && !text_has_nul(name))
        field = arena_cstr(arena, name);
    errors_add(errors, "parameter_invalid", field, "%s", message);
}

static int find_parameter(struct str name)
{
    for (int i = 0; i < PARAMETERS; i++) {
        if (str_equal(name, str_of(parameters[i].name)))
            return i;
    }
    return -1;
}

static void read_pair(struct str pair, struct arena *arena, bool seen[PARAMETERS],
                      struct audit_query *out, struct errors *errors)
{
    struct str raw_value = pair, raw_name = str_cut(&raw_value, '=');
    struct str name, value = STR(""), none = STR("");
    const char *complaint = NULL;
    int which;

    if (!decode(raw_name, arena, &name)) {
        complain(errors, arena, raw_name, "is not a well-formed parameter name");
        return;
    }
    which = find_parameter(name);
    if (which < 0)
        complaint = "is not a parameter of this operation";
    else if (seen[which])
        complaint = "is given more than once";
    else if (!decode(raw_value.p != NULL ? raw_value : none, arena, &value))
        complaint = "is not well-formed percent-encoded text";
    else
        complaint = parameters[which].read(value, out);
    if (which >= 0)
        seen[which] = true;
    if (complaint != NULL)
        complain(errors, arena, name, complaint);
}

static struct audit_query everything(void)
{
    return (struct audit_query){
        .per_page = AUDIT_PER_PAGE_DEFAULT, .after_s = -1, .before_s = UNIX_SECONDS_MAX + 1};
}

bool audit_query_read(struct str text, struct arena *arena, struct audit_query *out,
                      struct errors *errors)
{
    bool seen[PARAMETERS] = {false};
    size_t before = errors->n;

    *out = everything();
    while (text.n > 0 && errors->n < ERRORS_MAX) {
        struct str pair = str_cut(&text, '&');

        if (pair.n > 0)
            read_pair(pair, arena, seen, out, errors);
    }
    return errors->n == before;
}

/* STR_NONE: neither a text nor a number. */
static struct str member_text(const json_t *value, struct arena *arena)
{
    if (json_is_integer(value))
        return str_of(arena_printf(arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value)));
    return arena_str(arena, json_text(value));
}

static void read_members(json_t *object, struct arena *arena, struct audit_query *out,
                         struct errors *errors)
{
    const char *name, *complaint;
    json_t *member;

    json_object_foreach(object, name, member)
    {
        const struct str value = member_text(member, arena);
        const int which = find_parameter(str_of(name));

        if (which < 0)
            complaint = "is not a parameter of this operation";
        else if (value.p == NULL || text_has_nul(value))
            complaint = "must be a string or an integer";
        else
            complaint = parameters[which].read(value, out);
        if (complaint != NULL)
            complain(errors, arena, str_of(name), complaint);
    }
}

bool audit_query_read_body(struct str body, struct arena *arena, struct audit_query *out,
                           struct errors *errors)
{
    const size_t before = errors->n;
    json_t *object = NULL;
    char error[160];

    *out = everything();
    if (!json_read(body.n > 0 ? body : STR("{}"), &object, error))
        errors_add(errors, outcome_code(OUTCOME_INVALID_JSON), NULL, "%s", error);
    else if (!json_is_object(object))
        errors_add(errors, "parameter_invalid", NULL, "must be an object");
    else
        read_members(object, arena, out, errors);
    json_free(object);
    return errors->n == before;
}

static void add_line(struct buf *buf, struct str s)
{
    if (s.n > 0)
        buf_add(buf, s);
    buf_char(buf, '\n');
}

struct str audit_query_binding(const struct audit_query *query, const struct uuid *organization_id,
                               struct arena *arena)
{
    char organization[UUID_TEXT + 1];
    struct buf buf;

    /* No value can contain a line feed, so different queries never yield the same text. */
    uuid_format(organization_id, organization);
    buf_init(&buf, arena, 256);
    add_line(&buf, STR("audit.list"));
    add_line(&buf, str_of(organization));
    add_line(&buf, query->operation);
    add_line(&buf, query->outcome);
    add_line(&buf, query->api_key_id);
    add_line(&buf, query->conversation_id);
    buf_printf(&buf, "%" PRId64 "\n%" PRId64 "\n%d\n", query->after_s, query->before_s,
               query->per_page);
    return buf_str(&buf);
}

/* -- pages ------------------------------------------------------------------------------------- */

/* A position is an id, followed by its time if that is not the one in the id. */
enum { ID_BYTES = sizeof(struct uuid), PLACE_BYTES = ID_BYTES + sizeof(int64_t) };

static int64_t own_us(const struct uuid *id)
{
    return uuid_v7_ms(id) * 1000;
}

/* The last microsecond that an entry can have: before the year 10900. */
#define US_MAX (INT64_C(281803795199) * 1000000 + 999999)

bool page_read_text(struct str text, struct page_place *out)
{
    const struct str id = str_cut(&text, '@');
    uint64_t us;

    if (!uuid_parse(id, &out->id))
        return false;
    out->us = own_us(&out->id);
    if (text.n == 0)
        return true;
    if (!str_to_u64(text, US_MAX, &us))
        return false;
    out->us = (int64_t)us;
    return true;
}

void page_write_us(const struct page_place *place, struct buf *out)
{
    if (place->us != own_us(&place->id) && place->us >= 0 && place->us <= US_MAX)
        json_add_integer(out, "from_us", place->us);
}

bool page_read(const struct cursor_keys *keys, struct str binding, struct str cursor,
               struct page_place *behind)
{
    uint8_t position[CURSOR_POSITION_MAX];
    size_t n;

    if (!cursor_read(keys, binding, cursor, clock_us(), position, &n) ||
        (n != ID_BYTES && n != PLACE_BYTES))
        return false;
    memcpy(&behind->id, position, ID_BYTES);
    behind->us = own_us(&behind->id);
    if (n == PLACE_BYTES)
        memcpy(&behind->us, position + ID_BYTES, sizeof(behind->us));
    return true;
}

enum status page_refuse(struct command *command)
{
    return command_refuse(command, OUTCOME_INVALID_CURSOR, "starting_after",
                          "is not a cursor of this list, or has expired");
}

void page_write(const struct cursor_keys *keys, struct str binding, int per_page,
                const struct page_place *last, struct buf *out)
{
    uint8_t position[PLACE_BYTES];
    char text[CURSOR_TEXT_MAX + 1];

    json_add_key(out, "pages");
    buf_char(out, '{');
    json_add_text(out, "type", STR("pages"));
    json_add_integer(out, "per_page", per_page);
    if (last != NULL) {
        const bool has_own_time = last->us == own_us(&last->id);

        memcpy(position, &last->id, ID_BYTES);
        memcpy(position + ID_BYTES, &last->us, sizeof(last->us));
        cursor_make(keys, binding,
                    (struct str){(const char *)position, has_own_time ? ID_BYTES : PLACE_BYTES},
                    clock_us(), text);
        json_add_key(out, "next");
        buf_char(out, '{');
        json_add_text(out, "starting_after", str_of(text));
        buf_char(out, '}');
    }
    buf_char(out, '}');
}
