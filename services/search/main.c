#include <malloc.h>

#include "common/audit_log/audit_log.h"
#include "common/base/log.h"
#include "common/runtime/service.h"
#include "proto/subject.h"
#include "search_sql.h"
#include "services/search/search.h"

struct search_config {
    const char *cursor_key;
    const char *cursor_key_previous;
    bool database_is_replica;
};

static const struct setting settings[] = {
    {.name = "CURSOR_KEY",
     .type = SETTING_STRING,
     .offset = offsetof(struct search_config, cursor_key),
     .secret = true,
     .meaning =
         "Signs the cursors of searches: 32 random characters or more, the same for all replicas"},
    {.name = "CURSOR_KEY_PREVIOUS",
     .type = SETTING_STRING,
     .offset = offsetof(struct search_config, cursor_key_previous),
     .fallback = "",
     .secret = true,
     .meaning = "A second key whose cursors are also accepted, for changing keys"},
    {.name = "DATABASE_IS_REPLICA",
     .type = SETTING_BOOL,
     .offset = offsetof(struct search_config, database_is_replica),
     .fallback = "false",
     .meaning = "DATABASE_URL points to a read-only replica: the gateway writes the audit "
                "entries, and recent writes may not be found yet"},
};

static const struct command_handler *const handlers[] = {
    &search_conversations,
};

/* malloc() keeps a batch's memory for the next one, even if its pages are large (see
   keep_freed_memory() in program.c): returning megabytes to the kernel and getting them back takes
   a quarter of the time of a page. In effect all of it is kept; the batches limit how much that
   is. */
enum { KEPT_BYTES = 256 * 1024 * 1024 };

static struct search search;

static struct service search_service = {
    .name = "search",
    .handlers = handlers,
    .n_handlers = ARRAY_SIZE(handlers),
    .statements = search_sql,
    .n_statements = SEARCH_SQL_COUNT,
    .self = &search,
    .audit_sink = &audit_log,
    .batches = 2,
    .batch_max = 16, /* a reply may have 7 MB, and its rows as much */
    .statement_ms = 1500,
    .has_slow_lane = true,
};

static enum status open_search(struct service *service, void *config)
{
    const struct search_config *read = config;

    if (!cursor_keys_read(read->cursor_key, read->cursor_key_previous, &search.keys)) {
        LOG(LOG_ERROR, "CURSOR_KEY and CURSOR_KEY_PREVIOUS must be at least 32 characters long");
        return ST_REFUSED;
    }
    if (read->database_is_replica)
        service->audit_sink = NULL;
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    return ST_OK;
}

int main(int argc, char **argv)
{
    static struct search_config config;
    const struct service_extra extra = {
        .settings = settings,
        .n_settings = ARRAY_SIZE(settings),
        .config = &config,
        .open = open_search,
    };

    return service_main(argc, argv, &search_service, &extra);
}
