#include "common/model/conversation_status.h"

#include <stddef.h>

#define SETTABLE "active", "waiting", "human_takeover", "resolved", "archived"
#define LEGACY   "closed"

const char *const conversation_status_names[] = {SETTABLE, NULL};
const char *const conversation_stored_statuses[CONVERSATION_STORED_STATUSES] = {SETTABLE, LEGACY};
const char *const conversation_state_names[] = {"open", "closed", NULL};

struct str conversation_status_shown(struct str stored)
{
    return str_equal(stored, STR(LEGACY)) ? STR("resolved") : stored;
}

bool conversation_status_is_open(struct str status)
{
    return str_equal(status, STR("active")) || str_equal(status, STR("waiting")) ||
           str_equal(status, STR("human_takeover"));
}

struct str conversation_state(struct str status)
{
    return conversation_status_is_open(status) ? STR("open") : STR("closed");
}
