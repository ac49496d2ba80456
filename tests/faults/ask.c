#include "tests/faults/ask.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/faults/history.h"
#include "tests/support/api_client.h"

enum { REQUEST_MAX = 8192 };

static size_t write_request(char out[REQUEST_MAX], const struct ask *it)
{
    size_t n = (size_t)snprintf(out, REQUEST_MAX, "%s /api/v1%s HTTP/1.1\r\nHost: x\r\n",
                                it->method, it->path);

    if (it->key != NULL)
        n += (size_t)snprintf(out + n, REQUEST_MAX - n, "Authorization: Bearer %s\r\n", it->key);
    if (it->header != NULL)
        n += (size_t)snprintf(out + n, REQUEST_MAX - n, "%s\r\n", it->header);
    if (it->body != NULL)
        n += (size_t)snprintf(out + n, REQUEST_MAX - n, "%sContent-Length: %zu\r\n\r\n%s",
                              it->header == NULL ? "Content-Type: application/json\r\n" : "",
                              strlen(it->body), it->body);
    else
        n += (size_t)snprintf(out + n, REQUEST_MAX - n, "\r\n");
    cr_assert_lt(n, REQUEST_MAX);
    return n;
}

/* A connection that the gateway has closed, because it was idle or the gateway died, is not
   reused. */
static bool open_if_closed(const struct ask *it)
{
    if (it->connection->fd >= 0 && http_connection_ends(it->connection, 0))
        http_connection_close(it->connection);
    if (it->connection->fd < 0 &&
        !http_connection_open(it->connection, stack_gateway_port() + it->gateway))
        return false;
    it->connection->is_private = true;
    return true;
}

struct response ask_begin(const struct ask *it)
{
    struct response response = {.begin_us = clock_mono_us()};
    char request[REQUEST_MAX];

    response.was_sent = open_if_closed(it) &&
                        http_connection_send(it->connection, request, write_request(request, it));
    return response;
}

void ask_end(const struct ask *it, struct response *response)
{
    struct connection_response got;
    char value[16];
    const bool came =
        response->was_sent && http_connection_receive(it->connection, &got, it->timeout_ms);

    response->end_us = clock_mono_us();
    if (came) {
        response->status = got.status;
        response->is_replay =
            http_connection_header(&got, "X-Service-Idempotent-Replay", value, sizeof(value)) &&
            strcmp(value, "true") == 0;
        memcpy(response->request_id, got.request_id, sizeof(response->request_id));
        response->body = json_loadb(got.body, got.body_n, 0, NULL);
    }
    if (!came || got.closes)
        http_connection_close(it->connection);
}

void ask_end_several(const struct ask *asked, struct response *responses, size_t n)
{
    const int64_t until_us = clock_mono_us() + asked->timeout_ms * 1000LL;
    struct pollfd waiting[ASK_SEVERAL_MAX];
    size_t n_ended = 0;

    cr_assert_leq(n, ASK_SEVERAL_MAX);
    for (size_t i = 0; i < n; i++) {
        waiting[i] = (struct pollfd){.fd = asked[i].connection->fd, .events = POLLIN};
        if (!responses[i].was_sent) {
            ask_end(&asked[i], &responses[i]);
            waiting[i].fd = -1;
            n_ended++;
        }
    }
    while (n_ended < n) {
        const int left_ms = (int)((until_us - clock_mono_us()) / 1000);
        const bool is_over = left_ms <= 0;

        poll(waiting, (nfds_t)n, is_over ? 0 : left_ms);
        for (size_t i = 0; i < n; i++) {
            struct ask it = asked[i];

            if (waiting[i].fd < 0 || (waiting[i].revents == 0 && !is_over))
                continue;
            it.timeout_ms = is_over ? 1 : left_ms;
            ask_end(&it, &responses[i]);
            waiting[i].fd = -1;
            n_ended++;
        }
    }
}

struct response ask(const struct ask *it)
{
    struct response response = ask_begin(it);

    ask_end(it, &response);
    return response;
}

/* -- what of a response is kept -------------------------------------------------------------- */

static void keep(json_t *kept, const char *name, const json_t *from, const char *path)
{
    const json_t *value = json_at(from, path);

    if (value != NULL)
        json_object_set(kept, name, (json_t *)value);
}

static json_t *conversation_kept(const json_t *conversation)
{
    json_t *kept = json_object();

    keep(kept, "id", conversation, "id");
    keep(kept, "ext", conversation, "external_id");
    keep(kept, "contact", conversation, "contact.external_id");
    keep(kept, "attrs", conversation, "custom_attributes");
    keep(kept, "created", conversation, "created_at");
    keep(kept, "updated", conversation, "updated_at");
    return kept;
}

static json_t *list_kept(const json_t *list, const char *member)
{
    const json_t *items = json_object_get(list, member);
    json_t *kept = json_object(), *array = json_array(), *item;
    size_t i;

    json_array_foreach(items, i, item)
    {
        if (strcmp(member, "conversations") == 0)
            json_array_append_new(array, conversation_kept(item));
        else
            json_array_append_new(array,
                                  json_pack("[O?, O?, O?, O?]", json_object_get(item, "request_id"),
                                            json_object_get(item, "operation"),
                                            json_object_get(item, "http_status"),
                                            json_object_get(item, "conversation_id")));
    }
    json_object_set_new(kept, member, array);
    keep(kept, "total", list, "total_count");
    keep(kept, "page", list, "pages.page");
    json_object_set_new(kept, "more",
                        json_boolean(json_at(list, "pages.next.starting_after") != NULL));
    return kept;
}

static json_t *response_kept(const json_t *body)
{
    const char *type = text_of(body, "type");
    json_t *kept;

    if (strcmp(type, "conversation") == 0)
        return conversation_kept(body);
    if (strcmp(type, "conversation.list") == 0)
        return list_kept(body, "conversations");
    if (strcmp(type, "audit_log.list") == 0)
        return list_kept(body, "audit_logs");
    kept = json_object();
    keep(kept, "code", body, "errors[0].code");
    keep(kept, "request_id", body, "request_id");
    keep(kept, "organization_id", body, "organization_id");
    keep(kept, "scope", body, "scope");
    keep(kept, "server_time", body, "server_time");
    return kept;
}

static void (*observe)(const struct response *response);

void ask_observe(void (*observer)(const struct response *response))
{
    observe = observer;
}

static void write_line(const char *operation, int org, const struct ask *asked,
                       const struct response *response, json_t *args)
{
    json_t *line = json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:i, s:s, s:o}", "type", "op", "op",
                             operation, "org", org, "gateway", asked->gateway, "begin",
                             (json_int_t)response->begin_us, "end", (json_int_t)response->end_us,
                             "status", response->status, "id", response->request_id, "args", args);

    cr_assert_not_null(line);
    if (response->status == 0 && !response->was_sent)
        json_object_set_new(line, "sent", json_false());
    if (response->is_replay)
        json_object_set_new(line, "replay", json_true());
    if (response->body != NULL)
        json_object_set_new(line, "got", response_kept(response->body));
    history_write(line);
}

void ask_note(const char *operation, int org, const struct ask *asked, struct response *response,
              json_t *args)
{
    if (observe != NULL) {
        observe(response);
        json_decref(args);
    } else {
        write_line(operation, org, asked, response, args);
    }
    json_decref(response->body);
    response->body = NULL;
}
