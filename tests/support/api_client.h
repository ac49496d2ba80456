/*
 * api_client - the API as tests use it: organizations, requests, and checks of responses.
 *
 * Owns     As http_client.h: responses live until the process ends.
 * Threads  Requests from any; expectations belong to the test's main thread.
 * Fails    Fails the test, naming request and response.
 */
#ifndef TESTS_SUPPORT_API_CLIENT_H
#define TESTS_SUPPORT_API_CLIENT_H

#include "tests/support/http_client.h"
#include "tests/support/stack.h"

struct org {
    char id[37];
    char full_key[64], full_key_id[37];
    char read_key[64], read_key_id[37];
};

/* An organization that no other test uses, on a plan with API access, with one key of each
   scope. */
void org_new(struct org *org);
void org_new_in(struct org *org, const char *cell);
void org_new_key(const struct org *org, const char *scope, char token[64], char id[37]);

/* -- requests -------------------------------------------------------------------------------- */

struct client_response *api_get(const char *key, const char *path);
struct client_response *api_post(const char *key, const char *path, const char *body);
struct client_response *api_put(const char *key, const char *path, const char *body);
/* The body is a printf format. */
struct client_response *api_create(const char *key, const char *pattern, ...)
    __attribute__((format(printf, 2, 3)));
/* Creates a conversation with this external id for this contact, which must give 201; returns its
   id. */
const char *new_conversation(const struct org *org, const char *external_id, const char *contact);
struct client_response *read_conversation(const struct org *org, const char *id);
struct client_response *update_conversation(const struct org *org, const char *id,
                                            const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends `n` requests at the same moment from as many threads; responses come in the order of the
   requests. */
void api_send_together(const struct client_request *requests, int n,
                       struct client_response **responses);

/* Whether all of these were counted in the same window of the rate limit, judging by the end of it
   that they report. */
bool api_in_one_window(struct client_response *const *responses, int n);

/* -- looking into responses -----------------------------------------------------------------------
 */

/* A member by its path: "contact.id", "errors[0].code", "contacts.contacts[0].id"; NULL if absent.
 */
const json_t *json_at(const json_t *value, const char *path);
const json_t *at(const struct client_response *response, const char *path);
const char *text_of(const json_t *object, const char *member); /* "" if it is not a string */
const char *text_at(const struct client_response *response,
                    const char *path); /* must be a string */
long long integer_at(const struct client_response *response, const char *path);

void expect_status(const struct client_response *response, int status);
/* Checks the whole envelope. `field` NULL = the first error names no field; "*" = any or none. */
void expect_error(const struct client_response *response, int status, const char *code,
                  const char *field);
void expect_text(const struct client_response *response, const char *path, const char *text);
void expect_integer(const struct client_response *response, const char *path, long long integer);
void expect_null(const struct client_response *response, const char *path);
/* Equal to a JSON text, in any order of keys; integers and reals are different. */
void expect_json(const struct client_response *response, const char *path, const char *json);
/* Exactly these members and no more: "type id created_at". */
void expect_members(const json_t *object, const char *names);
void expect_uuid(const char *text);

/* Expects exactly one audit entry for that response: operation, status, outcome, denial reason. */
void expect_recorded(const struct org *org, const struct client_response *response,
                     const char *operation);

/* printf into memory that lives until the process ends. */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

#endif
