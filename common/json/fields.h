/*
 * fields - reads a JSON object from outside according to a table of its fields; a request's errors.
 *
 *     static const struct field search_fields[] = {
 *         {.name = "query", .kind = FIELD_CUSTOM, .required = true, .read = query_read,
 *          .offset = offsetof(struct search_body, query)},
 *         ...
 *         FIELDS_END,
 *
 * What     Errors are in the order of the document, followed by missing fields in the order of the
 *          table. A member that is not in the table is refused with its path; so is null, unless the
 *          field is nullable. The first ERRORS_MAX errors are kept.
 * Owns     Values and the texts of errors are copied into the arena of `errors`; nothing points into
 *          the tree.
 * Threads  Any; one at a time for each struct errors.
 * Fails    Errors are added to `errors`; the target's contents are then undefined.
 */
#ifndef COMMON_JSON_FIELDS_H
#define COMMON_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/status.h"
#include "common/base/str.h"
#include "common/json/json.h"
#include "proto/outcome.h"

/* -- errors ------------------------------------------------------------------------------------- */

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
/* Writes the array that is the value of "errors" in an answer:
   [{"code":...,"message":...,"field":...}, ...] */
void errors_write(const struct errors *errors, struct buf *out);

/* -- fields ------------------------------------------------------------------------------------- */

enum field_kind {
    FIELD_TEXT,       /* struct str: `min` to `max` code points, no U+0000 */
    FIELD_FILLED,     /* as FIELD_TEXT, and not only White_Space */
    FIELD_IDENTIFIER, /* as FIELD_TEXT, without White_Space at its ends */
    FIELD_CHOICE,     /* struct str: one of `choices` */
    FIELD_UUID,       /* struct str: a UUID; capitals are accepted, but match nothing */
    FIELD_INT,        /* struct field_int: `min` to `max` */
    FIELD_BOOL,       /* struct field_bool */
    FIELD_CUSTOM,     /* what `read` writes */
};

/* Times are whole Unix seconds. Clients often send milliseconds, which the message therefore names. */
#define UNIX_SECONDS_MAX INT64_C(253402300799) /* the end of the year 9999 */
#define UNIX_SECONDS_ERROR                                                                         \
    "must be Unix seconds (not milliseconds), an integer from 0 to 253402300799"

#define FIELD_OF_SECONDS .kind = FIELD_INT, .max = UNIX_SECONDS_MAX, .error = UNIX_SECONDS_ERROR

/* Strings need no such flag: an absent one is STR_NONE. */
struct field_int {
    bool given;
    bool is_null; /* nullable, and null */
    int64_t value;
};

struct field_bool {
    bool given;
    bool value;
};

/* Checks the value at `path` and writes the result to `slot`. */
typedef void (*field_read_fn)(json_t *value, const char *path, void *slot, struct errors *errors);

struct field {
    const char *name;
    enum field_kind kind;
    bool required;
    bool nullable; /* null is the same as absent; field_int.is_null distinguishes them */
    int64_t min, max;
    const char *error;          /* FIELD_INT: NULL = names `min` and `max` */
    const char *const *choices; /* ends with NULL */
    field_read_fn read;         /* FIELD_CUSTOM only */
    size_t offset;              /* of the slot in the target */
};

/* The last row of every table of fields. */
#define FIELDS_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Reads the members of `object` into *into, which the caller has zeroed. `path` is that of the
   object, "" for the root. It is an error if the value is not an object. */
void fields_read(json_t *object, const char *path, const struct field *fields, void *into,
                 struct errors *errors);

/* Reads a whole body: parses it as JSON and reads the object's fields. False: see `errors`. */
MUST_CHECK bool fields_read_body(struct str body, const struct field *fields, void *into,
                                 struct errors *errors);

/* Checks the value at `path`, such as an element of an array, by a field's kind and limits, and
   writes the result to `slot`. */
void field_read_value(const struct field *field, json_t *value, const char *path, void *slot,
                      struct errors *errors);

/* "path.name", or "name" at the root. */
const char *fields_path(struct arena *arena, const char *path, const char *name);

/* The outcome of a request with these errors: that of the first one. There must be one. */
enum outcome fields_outcome(const struct errors *errors);

#endif
