/*
 * api - the vocabulary of the integration tests: organizations of their own, requests, and what
 * answers must look like.
 *
 * Owns     As http.h: answers live until the process ends.
 * Threads  Requests from any; expectations belong to the test's main thread.
 * Fails    Fails the test, naming request and answer.
 */
#ifndef TESTS_SUPPORT_API_H
#define TESTS_SUPPORT_API_H

#include "tests/support/http.h"
#include "tests/support/stack.h"

struct org {
    char id[37];
    char full_key[64], full_key_id[37];
    char read_key[64], read_key_id[37];
};

/* Opens a suite's tests: shares the stack. */
void api_open(void);

/* An organization that no other test knows, on a plan with API access, with a key of each kind. */
void org_new(struct org *org);
void org_new_key(const struct org *org, const char *scope, char token[64], char id[37]);

/* -- requests -------------------------------------------------------------------------------- */

struct answer *api_get(const char *key, const char *path);
struct answer *api_post(const char *key, const char *path, const char *body);
struct answer *api_put(const char *key, const char *path, const char *body);
/* The body is made by printf. */
struct answer *api_create(const char *key, const char *pattern, ...)
    __attribute__((format(printf, 2, 3)));
/* A conversation of that external id for that contact, which must come out as 201; its id. */
const char *new_conversation(const struct org *org, const char *external_id, const char *contact);
struct answer *read_conversation(const struct org *org, const char *id);
struct answer *update_conversation(const struct org *org, const char *id, const char *pattern, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends `n` requests at the same moment from as many threads; the answers in their order. */
void api_send_together(const struct http_request *requests, int n, struct answer **answers);

/* Rate limits count in windows of 10 seconds: waits until the present one has that much left. */
void api_begin_in_window(int left_ms);
/* Whether all of these were counted in the same window, whose end they tell. */
bool api_in_one_window(struct answer *const *answers, int n);

/* What an operator changes is to be in force within a second. Here it has twice that, as a gateway
   that heard nothing of it would ask by itself after three. */
enum { IN_FORCE_MS = 2000 };

/* -- looking into answers -----------------------------------------------------------------------
 */

/* A member by its path: "contact.id", "errors[0].code", "contacts.contacts[0].id"; NULL if absent.
 */
const json_t *at(const struct answer *answer, const char *path);
const char *text_at(const struct answer *answer, const char *path); /* must be a string */
long long integer_at(const struct answer *answer, const char *path);

void expect_status(const struct answer *answer, int status);
/* The whole envelope. `field` NULL = the first error names no field; "*" = any or none. */
void expect_error(const struct answer *answer, int status, const char *code, const char *field);
void expect_text(const struct answer *answer, const char *path, const char *text);
void expect_integer(const struct answer *answer, const char *path, long long integer);
void expect_null(const struct answer *answer, const char *path);
/* Equal to a JSON text, whatever the order of keys; integers and reals are told apart. */
void expect_json(const struct answer *answer, const char *path, const char *json);
/* Exactly these members and no more: "type id created_at". */
void expect_members(const json_t *object, const char *names);
void expect_uuid(const char *text);

/* Exactly one entry in the trail for that answer: operation, status, outcome, denial reason. */
void expect_recorded(const struct org *org, const struct answer *answer, const char *operation);

/* printf into memory that lives until the process ends. */
char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

#endif
