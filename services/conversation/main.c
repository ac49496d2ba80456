#include "common/audit_log/audit_log.h"
#include "common/runtime/service.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/conversation.h"

static const struct command_handler *const handlers[] = {
    &conversation_create, &conversation_get,           &conversation_update,
    &conversation_open,   &conversation_append,        &conversation_set_status,
    &conversation_delete, &conversation_erase_contact,
};

static const struct command_handler *const inbox_handlers[] = {
    &conversation_inbox,
    &conversation_view,
};

/* Building a page takes up to 6 MB of rows and 4 MB of reply. A batch of the other mailbox could
   hold 128 pages at once, more than the process's memory. */
static struct service inbox_service = {
    .name = "inbox",
    .group = "conversation", /* the whole process is one group on the bus */
    .handlers = inbox_handlers,
    .n_handlers = ARRAY_SIZE(inbox_handlers),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .batch_max = 4,
    .actors = 1,
    .has_slow_lane = true,
};

static struct service conversation_service = {
    .name = "conversation",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .audit_sink = &audit_log,
    .has_slow_lane = true,
    .next_in_process = &inbox_service,
};

int main(int argc, char **argv)
{
    return service_main(argc, argv, &conversation_service, NULL);
}
