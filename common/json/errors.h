/*
 * errors - what is wrong with a request, as the caller will read it.
 *
 * What     Up to 10 errors in the order of the document: code, message, path of the field.
 *          errors_write() gives the array that stands under "errors" in the envelope.
 * Owns     Texts are copied into the arena.
 * Threads  One thread at a time.
 * Fails    Never. Errors beyond the tenth are dropped.
 */
#ifndef COMMON_JSON_ERRORS_H
#define COMMON_JSON_ERRORS_H

#include "common/base/arena.h"
#include "common/base/buf.h"

#define ERRORS_MAX 10

struct error {
    const char *code;    /* from proto/outcome.def; static */
    const char *message; /* never quotes a secret; ends without a full stop */
    const char *field;   /* path such as `query.value[1].operator`; NULL = none */
};

struct errors {
    struct arena *arena;
    size_t n;
    struct error at[ERRORS_MAX];
};

void errors_init(struct errors *errors, struct arena *arena);
/* `field` may be NULL. `message` is a printf format. */
void errors_add(struct errors *errors, const char *code, const char *field, const char *message,
                ...) __attribute__((format(printf, 4, 5)));
/* [{"code":...,"message":...,"field":...}, ...] */
void errors_write(const struct errors *errors, struct buf *out);

#endif
