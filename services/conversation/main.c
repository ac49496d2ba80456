#include "common/actor/service.h"
#include "common/trail/trail.h"
#include "conversation_sql.h"
#include "proto/subject.h"
#include "services/conversation/conversation.h"

static const struct route routes[] = {
    {SUBJECT_CONVERSATION_CREATE, OP_CONVERSATION_CREATE, CHANGE_NONE, true, create_judge, NULL,
     create_tell, create_ask},
    {SUBJECT_CONVERSATION_GET, OP_CONVERSATION_GET, CHANGE_NONE, false, get_judge, NULL, get_tell,
     get_ask},
    {SUBJECT_CONVERSATION_UPDATE, OP_CONVERSATION_UPDATE, CHANGE_NONE, true, update_judge,
     update_ask, update_tell, NULL},
    {SUBJECT_CONVERSATION_OPEN, OP_NONE, CHANGE_NONE, true, open_judge, open_ask, open_tell, NULL},
    {SUBJECT_CONVERSATION_APPEND, OP_NONE, CHANGE_NONE, true, append_judge, append_ask, append_tell,
     NULL},
    {SUBJECT_CONVERSATION_SET_STATUS, OP_NONE, CHANGE_CONVERSATION_SET_STATUS, true,
     set_status_judge, set_status_ask, set_status_tell, NULL},
    {SUBJECT_CONVERSATION_DELETE, OP_NONE, CHANGE_CONVERSATION_DELETE, true, delete_judge,
     delete_ask, delete_tell, NULL},
    {SUBJECT_CONTACT_ERASE, OP_NONE, CHANGE_CONTACT_ERASE, true, erase_contact_judge,
     erase_contact_ask, erase_contact_tell, NULL},
};

static const struct route inbox_routes[] = {
    {SUBJECT_INBOX_LIST, OP_NONE, CHANGE_NONE, false, inbox_judge, inbox_ask, inbox_tell, NULL},
    {SUBJECT_INBOX_VIEW, OP_NONE, CHANGE_NONE, false, view_judge, view_ask, view_tell, NULL},
};

/* A page takes up to 6 MB of rows and 4 MB of reply in the making. In the other mailbox 128 of them
   could be held at once, which is more than the process has. */
static struct service inbox_service = {
    .name = "inbox",
    .group = "conversation", /* as the bus knows the whole process */
    .mailbox = SUBJECT_INBOX,
    .routes = inbox_routes,
    .n_routes = sizeof(inbox_routes) / sizeof(inbox_routes[0]),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .looks_up_organizations = true,
    .batch_most = 4,
    .actors = 1,
};

static struct service conversation_service = {
    .name = "conversation",
    .mailbox = SUBJECT_CONVERSATION,
    .routes = routes,
    .n_routes = sizeof(routes) / sizeof(routes[0]),
    .statements = conversation_sql,
    .n_statements = CONVERSATION_SQL_COUNT,
    .ledger = &trail,
    .looks_up_organizations = true,
    .beside = &inbox_service,
};

int main(int argc, char **argv)
{
    return service_main(argc, argv, &conversation_service, NULL);
}
