/* When keys were last used: v1.access.used, off the path of any request. */
#include <inttypes.h>

#include "common/base/log.h"
#include "common/wire/json.h"
#include "proto/subject.h"
#include "services/gateway/lookup.h"

#define KEYS_MOST 1000 /* a message */

struct list {
    struct bus *bus;
    struct arena arena;
    struct buf body;
    size_t n;
};

static void begin(struct list *list)
{
    arena_clear(&list->arena);
    buf_init(&list->body, &list->arena, 4096);
    buf_add(&list->body, STR("{\"keys\":["));
    list->n = 0;
}

/* Lost when the bus is down: the keys are used again, or the last minute of use is not known. */
static void dispatch(struct list *list)
{
    if (list->n == 0)
        return;
    buf_add(&list->body, STR("]}"));
    if (bus_publish(list->bus, SUBJECT_ACCESS_USED, NULL, NULL, 0, buf_str(&list->body)) != ST_OK)
        LOG(LOG_DEBUG, "use of keys not told", log_int("keys", (int64_t)list->n));
    begin(list);
}

static void add(struct key *key, void *closure)
{
    struct list *list = closure;

    if (key->used_s / 60 == key->told_s / 60)
        return;
    key->told_s = key->used_s;
    buf_printf(
        &list->body, "%s{\"organization_id\":\"%s\",\"api_key_id\":\"%s\",\"at\":%" PRId64 "}",
        list->n > 0 ? "," : "", key->record.organization_id, key->record.api_key_id, key->used_s);
    if (++list->n == KEYS_MOST)
        dispatch(list);
}

void usage_tell(struct gateway *gateway)
{
    struct list list = {.bus = gateway->edge.bus};

    arena_init(&list.arena, 4 * 1024 * 1024);
    begin(&list);
    key_cache_each(gateway->keys, add, &list);
    dispatch(&list);
    arena_release(&list.arena);
}
