#include "services/convctl/list_services.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/json/json.h"
#include "proto/permission.h"

static json_int_t sum_of(const json_t *endpoints, const char *figure)
{
    json_int_t sum = 0;

    for (size_t i = 0; i < json_array_size(endpoints); i++)
        sum += json_integer_value(json_object_get(json_array_get(endpoints, i), figure));
    return sum;
}

static void put_text(json_t *into, const char *name, const json_t *from)
{
    struct str text = json_member_text(from, name);

    json_object_set_new(into, name, json_stringn(text.p != NULL ? text.p : "", text.n));
}

static json_t *line_of(const json_t *stats)
{
    const json_t *endpoints = json_object_get(stats, "endpoints");
    json_t *line = json_object();

    must(line != NULL);
    put_text(line, "name", stats);
    put_text(line, "instance", json_object_get(stats, "metadata"));
    put_text(line, "id", stats);
    put_text(line, "version", stats);
    put_text(line, "started", stats);
    json_object_set_new(line, "requests", json_integer(sum_of(endpoints, "num_requests")));
    json_object_set_new(line, "errors", json_integer(sum_of(endpoints, "num_errors")));
    return line;
}

static bool is_before(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"name", "instance", "id"};
    int order = 0;

    for (size_t i = 0; order == 0 && i < ARRAY_SIZE(keys); i++)
        order = strcmp(json_string_value(json_object_get(a, keys[i])),
                       json_string_value(json_object_get(b, keys[i])));
    return order < 0;
}

/* A service of ours is known by its name, which is that of its user. */
static bool is_ours(const json_t *stats)
{
    struct str name = json_member_text(stats, "name");

    for (int user = 0; name.n > 0 && user < BUS_USER_COUNT; user++)
        if (bus_user_answers(user) && str_equal(name, str_of(bus_user_name(user))))
            return true;
    return false;
}

/* Other systems on the bus may be asked, too: foreign replies are left out, and so is the server's
   "no responders". */
static void hear(void *closure, struct str body)
{
    json_t *list = closure, *stats, *line;
    char error[160];
    size_t at = 0;
    int failed;

    if (!json_read(body, &stats, error))
        return;
    line = is_ours(stats) ? line_of(stats) : NULL;
    json_free(stats);
    if (line == NULL)
        return;
    while (at < json_array_size(list) && is_before(json_array_get(list, at), line))
        at++;
    failed = json_array_insert_new(list, at, line);
    must(!failed);
}

enum status list_services(const struct bus_client_request *request, struct arena *arena,
                          struct str *answer, struct convctl_failure *failure)
{
    struct bus_client *client = bus_client_open(request, failure);
    json_t *list = json_array();
    enum status st = ST_REFUSED;
    char *text = NULL;

    must(list != NULL);
    if (client != NULL) {
        st = bus_client_send_to_all(client, request->subject, hear, list, failure);
        bus_client_close(client);
    }
    if (st == ST_OK) {
        text = json_dumps(list, JSON_COMPACT);
        *answer = arena_str(arena, str_of(text));
    }
    free(text);
    json_decref(list);
    return st;
}
