#include "common/json/errors.h"

#include <stdarg.h>

#include "common/json/json.h"

void errors_init(struct errors *errors, struct arena *arena)
{
    *errors = (struct errors){.arena = arena};
}

void errors_add(struct errors *errors, const char *code, const char *field, const char *message,
                ...)
{
    struct error *error;
    va_list args;

    if (errors->n == ERRORS_MAX)
        return;
    error = &errors->at[errors->n++];
    va_start(args, message);
    *error = (struct error){
        .code = code,
        .message = arena_vprintf(errors->arena, message, args),
        .field = field ? arena_cstr(errors->arena, str_of(field)) : NULL,
    };
    va_end(args);
}

void errors_write(const struct errors *errors, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < errors->n; i++) {
        const struct error *error = &errors->at[i];

        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        json_add_key(out, "code");
        json_add_string(out, str_of(error->code));
        json_add_key(out, "message");
        json_add_string(out, str_of(error->message));
        if (error->field) {
            json_add_key(out, "field");
            json_add_string(out, str_of(error->field));
        }
        buf_char(out, '}');
    }
    buf_char(out, ']');
}
