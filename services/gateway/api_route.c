#include "services/gateway/api_route.h"

#include <string.h>

#include "proto/subject.h"

struct route {
    const char *path; /* after /api/v1; with_id: the part before the id */
    bool with_id;
    const char *method;
    enum operation operation;
    const char *subject;
    bool writes, has_body, takes_query;
};

/* A fixed path comes before a path with an id in the same place. */
static const struct route routes[] = {
    {.path = "/ping", .method = "GET", .operation = OP_PING},
    {.path = "/conversations",
     .method = "POST",
     .operation = OP_CONVERSATION_CREATE,
     .subject = SUBJECT_CONVERSATION_CREATE,
     .writes = true,
     .has_body = true},
    {.path = "/conversations/search",
     .method = "POST",
     .operation = OP_CONVERSATION_SEARCH,
     .subject = SUBJECT_SEARCH_CONVERSATIONS,
     .has_body = true},
    {.path = "/conversations/",
     .with_id = true,
     .method = "GET",
     .operation = OP_CONVERSATION_GET,
     .subject = SUBJECT_CONVERSATION_GET},
    {.path = "/conversations/",
     .with_id = true,
     .method = "PUT",
     .operation = OP_CONVERSATION_UPDATE,
     .subject = SUBJECT_CONVERSATION_UPDATE,
     .writes = true,
     .has_body = true},
    {.path = "/audit",
     .method = "GET",
     .operation = OP_AUDIT_LIST,
     .subject = SUBJECT_AUDIT_LIST,
     .takes_query = true},
};

static const struct route *const routes_end = routes + ARRAY_SIZE(routes);

/* *id is STR_NONE if the path has none. */
static bool matches(const struct route *route, struct str path, struct str *id)
{
    struct str fixed = str_of(route->path);

    *id = STR_NONE;
    if (!route->with_id)
        return str_equal(path, fixed);
    if (!str_starts(path, fixed))
        return false;
    *id = str_skip(path, fixed.n);
    if (id->n == 0 || memchr(id->p, '/', id->n) != NULL)
        return false;
    if (id->n > API_ROUTE_RESOURCE_MAX)
        id->n = API_ROUTE_RESOURCE_MAX;
    return true;
}

/* The methods of the path whose first row is `first`. */
static const char *allowed(const struct route *first)
{
    return first->with_id ? "GET, PUT" : first->method;
}

static struct api_route route_to(const struct route *route, struct str id)
{
    return (struct api_route){
        .end = API_ROUTE_FOUND,
        .operation = route->operation,
        .subject = route->subject,
        .writes = route->writes,
        .has_body = route->has_body,
        .takes_query = route->takes_query,
        .resource_id = id,
    };
}

static struct api_route find(struct str method, struct str path)
{
    const struct route *first = NULL;
    struct str id, first_id = STR_NONE;

    for (const struct route *route = routes; route < routes_end; route++) {
        /* Rows of one path are adjacent; the first path that matches is used. */
        if (!matches(route, path, &id) || (first != NULL && route->with_id != first->with_id))
            continue;
        if (str_equal(method, str_of(route->method)))
            return route_to(route, id);
        if (first == NULL) {
            first = route;
            first_id = id;
        }
    }
    if (first == NULL)
        return (struct api_route){.end = API_ROUTE_UNKNOWN, .operation = OP_UNKNOWN};
    return (struct api_route){.end = API_ROUTE_NO_METHOD,
                              .operation = OP_UNKNOWN,
                              .allow = allowed(first),
                              .resource_id = first_id};
}

struct api_route api_route_find(struct str method, struct str target)
{
    struct str base = STR("/api/v1"), query = target;
    struct str path = str_cut(&query, '?');
    struct api_route route = {.end = API_ROUTE_OUTSIDE, .operation = OP_NONE};

    if (str_starts(path, base)) {
        path = str_skip(path, base.n);
        if (path.n == 0 || path.p[0] == '/')
            route = find(method, path);
    }
    route.query = query;
    return route;
}
