#include "tests/faults/final_reads.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/faults/ask.h"
#include "tests/faults/history.h"
#include "tests/faults/workload_requests.h"
#include "tests/support/sql.h"

enum { TRIES = 20, PAUSE_MS = 250, RESPONSE_MS = 10000, EVENTS_MS = 90000, PER_PAGE = 100 };

struct reader {
    const struct org *org;
    int number;
    struct http_connection connection;
    int page; /* from 0 */
    char cursor[1024];
};

static void begin_list(struct reader *reader)
{
    reader->page = 0;
    reader->cursor[0] = '\0';
}

/* Reads a page and keeps the next one's cursor. Each try is a line of the history with these
   arguments. */
static void read_page(struct reader *reader, const char *operation, const char *method,
                      const char *path, const char *body, json_t *args)
{
    const struct ask it = {.connection = &reader->connection,
                           .key = reader->org->read_key,
                           .method = method,
                           .path = path,
                           .body = body,
                           .timeout_ms = RESPONSE_MS};
    struct response response = ask(&it);
    const char *cursor;

    for (int i = 0; i < TRIES && response.status != 200; i++) {
        ask_note(operation, reader->number, &it, &response, json_incref(args));
        stack_let_run(PAUSE_MS);
        response = ask(&it);
    }
    cr_assert_eq(response.status, 200, "%s %s ends with %d", method, path, response.status);
    cursor = json_string_value(json_at(response.body, "pages.next.starting_after"));
    snprintf(reader->cursor, sizeof(reader->cursor), "%s", cursor != NULL ? cursor : "");
    reader->page++;
    ask_note(operation, reader->number, &it, &response, args);
}

static void read_contact(struct reader *reader, const char *contact)
{
    begin_list(reader);
    do {
        const bool goes_on = reader->cursor[0] != '\0';
        char body[2048];

        snprintf(
            body, sizeof(body),
            "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"%s\"},"
            "\"pagination\":{\"per_page\":%d%s%s%s}}",
            contact, PER_PAGE, goes_on ? ",\"starting_after\":\"" : "", reader->cursor,
            goes_on ? "\"" : "");
        read_page(
            reader, "search", "POST", "/conversations/search", body,
            json_pack("{s:s, s:i, s:b}", "contact", contact, "page", reader->page, "final", 1));
    } while (reader->cursor[0] != '\0');
}

static void read_contacts(struct reader *reader, const char *prefix, unsigned n)
{
    /* One more than the last: a create that should be refused named it. */
    for (unsigned i = 0; i <= n / WORKLOAD_PER_CONTACT + 1; i++) {
        char contact[32];

        snprintf(contact, sizeof(contact), "%s-%u", prefix, i);
        read_contact(reader, contact);
    }
}

static void read_audit(struct reader *reader)
{
    begin_list(reader);
    do {
        char path[1200];

        snprintf(path, sizeof(path), "/audit?per_page=%d%s%s", PER_PAGE,
                 reader->cursor[0] != '\0' ? "&starting_after=" : "", reader->cursor);
        read_page(reader, "audit", "GET", path, NULL, json_pack("{s:b}", "final", 1));
    } while (reader->cursor[0] != '\0');
}

static void verify(const struct reader *reader)
{
    json_t *found = convctl("audit", "verify", "--org", reader->org->id, NULL);

    history_write(
        json_pack("{s:s, s:i, s:o}", "type", "verify", "org", reader->number, "found", found));
}

static void note_delivery(const struct received *received, void *closure)
{
    const struct webhook *const webhooks = closure;
    const int org = received->path[4] - '0';

    if (strncmp(received->path, "/ok/", 4) != 0 || org < 0 || org >= WORKLOAD_ORGS)
        return;
    history_write(json_pack(
        "{s:s, s:i, s:s, s:s, s:s, s:b, s:I, s:o?}", "type", "delivery", "org", org, "event",
        received->event_id, "delivery", received->delivery, "header", received->event, "signed",
        strcmp(signature_of(webhooks[org].secret, received), received->signature) == 0, "at",
        (json_int_t)received->at_us, "body", json_loads(received->body, 0, NULL)));
}

/* Whether everything has been delivered; this is the only read that bypasses the API. */
static bool all_is_delivered(void *closure)
{
    (void)closure;
    return sql_integer("SELECT (SELECT count(*) FROM webhook.queue)"
                       " + (SELECT count(*) FROM webhook.events WHERE NOT dispatched)",
                       NULL) == 0;
}

void final_reads(const struct org orgs[WORKLOAD_ORGS], struct receiver *receiver,
                 const struct webhook webhooks[WORKLOAD_ORGS])
{
    cr_expect(stack_wait(all_is_delivered, NULL, EVENTS_MS),
              "events are still waiting for delivery");
    receiver_each(receiver, note_delivery, (void *)webhooks);
    for (int i = 0; i < WORKLOAD_ORGS; i++) {
        struct reader reader = {.org = &orgs[i], .number = i, .connection = {.fd = -1}};

        read_contacts(&reader, "c", workload_external_ids(i));
        read_contacts(&reader, "racer", workload_races(i));
        read_contact(&reader, WORKLOAD_DENIED);
        read_audit(&reader);
        verify(&reader);
        http_connection_close(&reader.connection);
    }
    history_write(json_pack("{s:s}", "type", "end"));
}
