/*
 * command_client - sends commands over the bus as the gateway does, and keeps the replies.
 *
 * Threads  The test's; replies arrive while it waits.
 * Fails    Fails the test, also after a wait of COMMAND_CLIENT_TIMEOUT_MS.
 */
#ifndef TESTS_SUPPORT_COMMAND_CLIENT_H
#define TESTS_SUPPORT_COMMAND_CLIENT_H

enum { COMMAND_CLIENT_TIMEOUT_MS = 30000 };

#define OTHER_ORGANIZATION "01890a5d-ac96-774b-bcce-b302099a8059"

enum command_client_mode {
    COMMAND_NORMAL,             /* the deadline is COMMAND_CLIENT_TIMEOUT_MS from now */
    COMMAND_EXPIRED,            /* the deadline has passed */
    COMMAND_AHEAD,              /* the sender's clock is a minute and a half ahead */
    COMMAND_WITHOUT_KEY,        /* without an API key */
    COMMAND_PLAIN,              /* as a stock client of NATS; one at a time */
    COMMAND_READ_ONLY,          /* with a read-only key */
    COMMAND_SAME_REQUEST,       /* the request id of the previous command */
    COMMAND_SHORT_DEADLINE,     /* the deadline is 3 s from now */
    COMMAND_OTHER_ORGANIZATION, /* for another organization */
};

struct command_client;

struct command_client *command_client_new(const char *bus_url);
void command_client_free(struct command_client *client);

void command_client_send(struct command_client *client, const char *subject, const char *body,
                         enum command_client_mode mode);
/* The same; `body` is a format for the number. */
void command_client_send_number(struct command_client *client, const char *subject,
                                const char *body, int number);
/* Waits until `n` replies have arrived since the last command_client_reset(). */
void command_client_await(struct command_client *client, int n);
/* Resets the counts; no command may be in flight. */
void command_client_reset(struct command_client *client);
/* How many replies had this outcome. */
int command_client_count(struct command_client *client, const char *outcome);
/* How many replies said that no audit entry was written. */
int command_client_count_unrecorded(struct command_client *client);
/* Sends and waits: "OUTCOME BODY", or "no responders". The text lives until the next one. */
const char *command_client_call(struct command_client *client, const char *subject,
                                const char *body, enum command_client_mode mode);
/* Returns when the server has forwarded everything sent before. */
void command_client_flush(struct command_client *client);

void command_client_subscribe(struct command_client *client, const char *subject);
/* Waits for a notice that names the client's organization. */
void command_client_await_notice(struct command_client *client);

#endif
