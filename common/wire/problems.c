#include "common/wire/problems.h"

#include <stdarg.h>

#include "common/wire/json.h"

void problems_init(struct problems *problems, struct arena *arena)
{
    *problems = (struct problems){.arena = arena};
}

void problems_add(struct problems *problems, const char *code, const char *field,
                  const char *message, ...)
{
    struct problem *problem;
    va_list args;

    if (problems->n == PROBLEMS_MOST)
        return;
    problem = &problems->at[problems->n++];
    va_start(args, message);
    *problem = (struct problem){
        .code = code,
        .message = arena_vprintf(problems->arena, message, args),
        .field = field ? arena_cstr(problems->arena, str_of(field)) : NULL,
    };
    va_end(args);
}

void problems_write(const struct problems *problems, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < problems->n; i++) {
        const struct problem *problem = &problems->at[i];

        buf_add(out, i > 0 ? STR(",{") : STR("{"));
        json_add_key(out, "code");
        json_add_string(out, str_of(problem->code));
        json_add_key(out, "message");
        json_add_string(out, str_of(problem->message));
        if (problem->field) {
            json_add_key(out, "field");
            json_add_string(out, str_of(problem->field));
        }
        buf_char(out, '}');
    }
    buf_char(out, ']');
}
