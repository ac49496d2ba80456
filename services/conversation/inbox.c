#include "common/base/text.h"
#include "common/db/params.h"
#include "common/json/json.h"
#include "common/model/conversation_model.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/body.h"
#include "services/conversation/conversation.h"

/*
 * inbox.list - an organization's conversations, newest first, for the dashboard.
 *
 * Answer   ok: {"conversations": [conversation...], "pages": {"type", "per_page", "next"?:
 *          {"starting_after"}}}; or the errors of the body
 * Cursor   the id of the last conversation that was looked at
 * Bound    a page looks at no more than LOOKED_AT_MAX conversations and holds about PAGE_BYTES. If
 *          the filters seldom match, it may have fewer than per_page conversations, or none, and
 *          still a cursor for the next page
 */

enum {
    PER_PAGE_DEFAULT = 50,
    PER_PAGE_MAX = 100,
    LOOKED_AT_MAX = 2000,
    PAGE_BYTES = 1024 * 1024,
    LOOKED_AT_A_UNIT = 15, /* looking at this many costs as much as one get */
};

struct inbox {
    struct str channel, status, contact, starting_after;
    struct field_int per_page;
    size_t result;
};

static const struct field inbox_fields[] = {
    {.name = "channel",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = 32,
     .offset = offsetof(struct inbox, channel)},
    {.name = "status",
     .kind = FIELD_CHOICE,
     .choices = conversation_status_names,
     .offset = offsetof(struct inbox, status)},
    {.name = "contact",
     .kind = FIELD_TEXT,
     .min = 1,
     .max = 255,
     .offset = offsetof(struct inbox, contact)},
    {.name = "starting_after",
     .kind = FIELD_UUID,
     .offset = offsetof(struct inbox, starting_after)},
    {.name = "per_page",
     .kind = FIELD_INT,
     .min = 1,
     .max = PER_PAGE_MAX,
     .offset = offsetof(struct inbox, per_page)},
    FIELDS_END,
};

static enum status inbox_parse(struct command *command, void *service)
{
    struct inbox *inbox = command->input;

    if (!inbox->per_page.given)
        inbox->per_page.value = PER_PAGE_DEFAULT;
    return ST_OK;
}

/* The index to read: the most selective that applies. The indexes by status and by channel leave
   out `active` and `api`, which conversations of the API have when they are created. */
static struct str way_of(const struct inbox *inbox)
{
    if (inbox->contact.p != NULL)
        return STR("contact");
    if (inbox->status.p != NULL && !str_equal(inbox->status, STR("active")))
        return STR("status");
    if (inbox->channel.p != NULL && !str_equal(inbox->channel, STR("api")))
        return STR("channel");
    return STR("all");
}

static void inbox_query(struct command *command, struct db *db, void *service)
{
    struct inbox *inbox = command->input;
    struct uuid contact_id;

    inbox->result = db_add(
        db, SQL_INBOX,
        PARAMS(conversation_organization_param(command), inbox->starting_after,
               param_int(command->arena, inbox->per_page.value + 1),
               param_int(command->arena, LOOKED_AT_MAX), inbox->status, inbox->channel,
               uuid_parse(inbox->contact, &contact_id) ? inbox->contact : STR_NONE, inbox->contact,
               inbox->contact.p != NULL ? text_lower(command->arena, inbox->contact) : STR_NONE,
               way_of(inbox)));
}

static void write_pages(struct buf *out, const struct inbox *inbox, struct str next)
{
    json_add_key(out, "pages");
    buf_char(out, '{');
    json_add_text(out, "type", STR("pages"));
    json_add_integer(out, "per_page", inbox->per_page.value);
    if (next.p != NULL) {
        json_add_key(out, "next");
        buf_char(out, '{');
        json_add_text(out, "starting_after", next);
        buf_char(out, '}');
    }
    buf_char(out, '}');
}

static uint32_t cost_of(const struct db_rows *rows)
{
    const size_t n = db_rows_count(rows);
    const int64_t looked_at = n > 0 ? db_value_int(rows, n - 1, INBOX_LOOKED_AT) : 0;

    return 1 + (uint32_t)(looked_at / LOOKED_AT_A_UNIT);
}

static enum status inbox_reply(struct command *command, struct db *db, void *service)
{
    const struct inbox *inbox = command->input;
    const struct db_rows *rows = db_result(db, inbox->result);
    struct str last = STR_NONE, next = STR_NONE;
    struct buf *out = &command->reply;
    int64_t shown = 0;

    command->cost = cost_of(rows);
    buf_init(out, command->arena, 16 * 1024);
    buf_add(out, STR("{\"conversations\":["));
    for (size_t row = 0; row < db_rows_count(rows) && next.p == NULL; row++) {
        if (db_value_bool(rows, row, INBOX_MATCHES)) {
            if (shown == inbox->per_page.value || out->n > PAGE_BYTES) {
                next = last;
                break;
            }
            if (shown++ > 0)
                buf_char(out, ',');
            conversation_write(out, rows, row, INBOX_CONVERSATION);
        }
        last = db_value(rows, row, INBOX_CONVERSATION + CONVERSATION_ID);
        if (db_value_bool(rows, row, INBOX_IS_LIMIT))
            next = last;
    }
    buf_char(out, ']');
    write_pages(out, inbox, next);
    buf_char(out, '}');
    return ST_OK;
}

const struct command_handler conversation_inbox = {
    .subject = SUBJECT_INBOX_LIST,
    .needs_organization = true,
    .fields = inbox_fields,
    .input_size = sizeof(struct inbox),
    .may_be_empty = true,
    .parse = inbox_parse,
    .query = inbox_query,
    .reply = inbox_reply,
};

/*
 * inbox.view - one conversation with its messages, for the dashboard.
 *
 * Answer   ok: {"conversation", "messages": [{id, created_at, body}...], the newest MESSAGES_MAX
 *          that fit, oldest first, "erased": whether its contact is}; or the errors of the body;
 *          not_found
 */

#define MESSAGES_MAX "100"

struct view {
    struct str id;
    size_t result;
};

static const struct field view_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .required = true, .offset = offsetof(struct view, id)},
    FIELDS_END,
};

static enum status view_parse(struct command *command, void *service)
{
    struct view *view = command->input;

    if (!uuid_parse(view->id, &command->conversation_id))
        return conversation_refuse_absent(command);
    return ST_OK;
}

static void view_query(struct command *command, struct db *db, void *service)
{
    struct view *view = command->input;

    view->result =
        db_add(db, SQL_VIEW,
               PARAMS(conversation_organization_param(command), view->id, STR(MESSAGES_MAX)));
}

static enum status view_reply(struct command *command, struct db *db, void *service)
{
    const struct view *view = command->input;
    const struct db_rows *rows = db_result(db, view->result);
    struct buf *out = &command->reply;

    if (db_rows_count(rows) == 0)
        return conversation_refuse_absent(command);
    buf_init(out, command->arena, 2048 + db_value(rows, 0, VIEW_MESSAGES).n);
    buf_add(out, STR("{\"conversation\":"));
    conversation_write(out, rows, 0, VIEW_CONVERSATION);
    json_add_key(out, "messages");
    buf_add(out, db_value(rows, 0, VIEW_MESSAGES));
    json_add_key(out, "erased");
    buf_add(out, db_value_bool(rows, 0, VIEW_IS_ERASED) ? STR("true}") : STR("false}"));
    return ST_OK;
}

const struct command_handler conversation_view = {
    .subject = SUBJECT_INBOX_VIEW,
    .needs_organization = true,
    .fields = view_fields,
    .input_size = sizeof(struct view),
    .parse = view_parse,
    .query = view_query,
    .reply = view_reply,
};
