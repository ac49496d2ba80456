/*
 * problems - what is wrong with a request, as the caller will read it.
 *
 * What     Up to 10 problems in the order of the document: code, message, path of the field.
 *          problems_write() gives the array that stands under "errors" in the envelope.
 * Owns     Texts are copied into the arena.
 * Threads  One thread at a time.
 * Fails    Never. Problems beyond the tenth are dropped.
 */
#ifndef COMMON_WIRE_PROBLEMS_H
#define COMMON_WIRE_PROBLEMS_H

#include "common/base/arena.h"
#include "common/base/buf.h"

#define PROBLEMS_MOST 10

struct problem {
    const char *code;    /* from proto/outcome.def; static */
    const char *message; /* never quotes a secret; ends without a full stop */
    const char *field;   /* path such as `query.value[1].operator`; NULL = none */
};

struct problems {
    struct arena *arena;
    size_t n;
    struct problem at[PROBLEMS_MOST];
};

void problems_init(struct problems *problems, struct arena *arena);
/* `field` may be NULL. `message` is a printf format. */
void problems_add(struct problems *problems, const char *code, const char *field,
                  const char *message, ...) __attribute__((format(printf, 4, 5)));
/* [{"code":...,"message":...,"field":...}, ...] */
void problems_write(const struct problems *problems, struct buf *out);

#endif
