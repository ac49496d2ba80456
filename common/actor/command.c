#include "common/actor/command.h"

#include <stdarg.h>

#include "common/wire/json.h"

enum status command_refuse(struct command *command, enum outcome outcome, const char *field,
                           const char *message, ...)
{
    va_list args;
    char *text;

    va_start(args, message);
    text = arena_vprintf(command->arena, message, args);
    va_end(args);
    errors_add(&command->errors, outcome_code(outcome), field, "%s", text);
    return command_refuse_all(command, outcome);
}

void command_note(struct command *command, const char *name, struct str value)
{
    struct buf *detail = &command->change_detail;

    if (value.p == NULL)
        return;
    if (detail->n == 0) {
        buf_init(detail, command->arena, 128);
        buf_char(detail, '{');
    }
    json_add_key(detail, name);
    json_add_string(detail, value);
}

enum status command_refuse_all(struct command *command, enum outcome outcome)
{
    command->outcome = outcome;
    return ST_REFUSED;
}
