/*
 * asker - the other end of the bus: sends commands as the gateway does and keeps the replies.
 *
 * Threads  The test's; replies come in while it waits.
 * Fails    Fails the test, also when what it waits for takes longer than
 *          ASKER_PATIENCE_MS.
 */
#ifndef TESTS_SUPPORT_ASKER_H
#define TESTS_SUPPORT_ASKER_H

enum { ASKER_PATIENCE_MS = 30000 };

enum asker_manner {
    ASKER_NORMAL,       /* the deadline is ASKER_PATIENCE_MS from now */
    ASKER_EXPIRED,      /* the deadline has passed */
    ASKER_ANONYMOUS,    /* no API key asks */
    ASKER_READS,        /* with a key that may only read */
    ASKER_SAME_REQUEST, /* the request id of the one before */
    ASKER_HASTY,        /* the deadline is 3 s from now */
};

struct asker;

struct asker *asker_new(const char *bus_url);
void asker_free(struct asker *asker);

void asker_send(struct asker *asker, const char *subject, const char *body,
                enum asker_manner manner);
/* The same; `body` is a format for the number. */
void asker_send_number(struct asker *asker, const char *subject, const char *body, int number);
/* Waits until so many replies have come in all since the last asker_forget(). */
void asker_await(struct asker *asker, int n);
/* Begins to count anew; nothing may be under way. */
void asker_forget(struct asker *asker);
/* How many replies had this outcome. */
int asker_count(struct asker *asker, const char *outcome);
/* How many replies said that no entry of the trail was written. */
int asker_count_unrecorded(struct asker *asker);
/* Sends and waits: "OUTCOME BODY", or "no responders". The text lives until the next one. */
const char *asker_ask_one(struct asker *asker, const char *subject, const char *body,
                          enum asker_manner manner);
/* Returns when the server has passed on everything that was sent before. */
void asker_round_trip(struct asker *asker);

void asker_listen(struct asker *asker, const char *subject);
/* Waits for a notice that names the organization of the asker. */
void asker_await_notice(struct asker *asker);

#endif
