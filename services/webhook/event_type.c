#include "services/webhook/event_type.h"

static const struct str names[EVENT_TYPES] = {
    [EVENT_CONVERSATION_CREATED] = STR("conversation.created"),
    [EVENT_TICKET_CREATED] = STR("ticket.created"),
    [EVENT_TICKET_RESOLVED] = STR("ticket.resolved"),
    [EVENT_AI_HANDOFF] = STR("ai.handoff"),
};

bool event_type_of(struct str name, enum event_type *out)
{
    for (int i = 0; i < EVENT_TYPES; i++) {
        if (str_equal(names[i], name)) {
            *out = (enum event_type)i;
            return true;
        }
    }
    return false;
}
