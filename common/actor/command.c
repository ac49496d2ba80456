#include "common/actor/command.h"

#include <stdarg.h>

enum status command_refuse(struct command *command, enum outcome outcome, const char *field,
                           const char *message, ...)
{
    va_list args;
    char *text;

    va_start(args, message);
    text = arena_vprintf(command->arena, message, args);
    va_end(args);
    problems_add(&command->problems, outcome_code(outcome), field, "%s", text);
    return command_refuse_all(command, outcome);
}

enum status command_refuse_all(struct command *command, enum outcome outcome)
{
    command->outcome = outcome;
    return ST_REFUSED;
}
