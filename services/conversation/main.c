#include "common/audit_log/audit_log.h"
#include "common/runtime/service.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/conversation.h"

static const struct route routes[] = {
    {SUBJECT_CONVERSATION_CREATE, OP_CONVERSATION_CREATE, CHANGE_NONE, true,
     conversation_create_parse, NULL, conversation_create_reply, conversation_create_query},
    {SUBJECT_CONVERSATION_GET, OP_CONVERSATION_GET, CHANGE_NONE, false, conversation_get_parse,
     NULL, conversation_get_reply, conversation_get_query},
    {SUBJECT_CONVERSATION_UPDATE, OP_CONVERSATION_UPDATE, CHANGE_NONE, true,
     conversation_update_parse, conversation_update_query, conversation_update_reply, NULL},
    {SUBJECT_CONVERSATION_OPEN, OP_NONE, CHANGE_NONE, true, conversation_open_parse,
     conversation_open_query, conversation_open_reply, NULL},
    {SUBJECT_CONVERSATION_APPEND, OP_NONE, CHANGE_NONE, true, conversation_append_parse,
     conversation_append_query, conversation_append_reply, NULL},
    {SUBJECT_CONVERSATION_SET_STATUS, OP_NONE, CHANGE_CONVERSATION_SET_STATUS, true,
     conversation_set_status_parse, conversation_set_status_query, conversation_set_status_reply,
     NULL},
    {SUBJECT_CONVERSATION_DELETE, OP_NONE, CHANGE_CONVERSATION_DELETE, true,
     conversation_delete_parse, conversation_delete_query, conversation_delete_reply, NULL},
    {SUBJECT_CONTACT_ERASE, OP_NONE, CHANGE_CONTACT_ERASE, true, conversation_erase_contact_parse,
     conversation_erase_contact_query, conversation_erase_contact_reply, NULL},
};

static const struct route inbox_routes[] = {
    {SUBJECT_INBOX_LIST, OP_NONE, CHANGE_NONE, false, conversation_inbox_parse,
     conversation_inbox_query, conversation_inbox_reply, NULL},
    {SUBJECT_INBOX_VIEW, OP_NONE, CHANGE_NONE, false, conversation_view_parse,
     conversation_view_query, conversation_view_reply, NULL},
};

/* A page takes up to 6 MB of rows and 4 MB of reply in the making. In the other mailbox 128 of them
   could be held at once, which is more than the process has. */
static struct service inbox_service = {
    .name = "inbox",
    .group = "conversation", /* as the bus knows the whole process */
    .routes = inbox_routes,
    .n_routes = ARRAY_SIZE(inbox_routes),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .looks_up_organizations = true,
    .batch_max = 4,
    .actors = 1,
    .has_slow_lane = true,
};

static struct service conversation_service = {
    .name = "conversation",
    .routes = routes,
    .n_routes = ARRAY_SIZE(routes),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .audit_sink = &audit_log,
    .looks_up_organizations = true,
    .has_slow_lane = true,
    .next_in_process = &inbox_service,
};

int main(int argc, char **argv)
{
    return service_main(argc, argv, &conversation_service, NULL);
}
