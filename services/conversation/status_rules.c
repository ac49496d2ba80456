#include "services/conversation/status_rules.h"

#include "common/db/array.h"

#define LEGACY "closed"

const char *const conversation_status_names[] = {"active",   "waiting",  "human_takeover",
                                                 "resolved", "archived", NULL};

static const struct move {
    const char *from, *to;
} moves[] = {
    {"active", "waiting"},        {"active", "human_takeover"},  {"active", "resolved"},
    {"waiting", "active"},        {"waiting", "human_takeover"}, {"waiting", "resolved"},
    {"human_takeover", "active"}, {"human_takeover", "waiting"}, {"human_takeover", "resolved"},
    {"resolved", "active"},       {"resolved", "archived"},      {"archived", "resolved"},
};

static struct str as_read(struct str status)
{
    return str_equal(status, STR(LEGACY)) ? STR("resolved") : status;
}

bool conversation_status_is_same(struct str a, struct str b)
{
    return str_equal(as_read(a), as_read(b));
}

bool conversation_status_may_become(struct str from, struct str to)
{
    for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
        if (str_equal(as_read(from), str_of(moves[i].from)) && str_equal(to, str_of(moves[i].to)))
            return true;
    }
    return false;
}

struct str conversation_status_sources(struct arena *arena, struct str to)
{
    struct buf list;

    array_open(&list, arena, 64);
    for (size_t i = 0; conversation_status_names[i] != NULL; i++) {
        if (conversation_status_may_become(str_of(conversation_status_names[i]), to))
            array_add_plain(&list, str_of(conversation_status_names[i]));
    }
    if (conversation_status_may_become(STR(LEGACY), to))
        array_add_plain(&list, STR(LEGACY));
    return array_close(&list);
}
