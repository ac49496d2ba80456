#include "services/convctl/help.h"

#include <string.h>

#include "services/convctl/convctl_call.h"

static void print_argument(FILE *to, const struct argument *argument)
{
    const char *option = argument->option != NULL ? argument->option : "";
    const char *label = argument->label != NULL ? argument->label : "";
    const char *space = *option != '\0' && *label != '\0' ? " " : "";

    fprintf(to, argument->required ? " %s%s%s" : " [%s%s%s]", option, space, label);
    if (argument->repeated)
        fputs("...", to);
}

static void print_call(FILE *to, const struct convctl_call *call)
{
    fprintf(to, "  convctl %s %s", call->group, call->verb);
    for (size_t i = 0; i < call->n; i++)
        print_argument(to, &call->arguments[i]);
    fprintf(to, "\n      %s\n", call->meaning);
}

void help_print(FILE *to, const char *group)
{
    fputs("usage: convctl [--nats URL] GROUP VERB ...\n"
          "       convctl --version | [GROUP] --help\n\n",
          to);
    for (size_t i = 0; i < convctl_calls_count; i++) {
        if (group == NULL || strcmp(group, convctl_calls[i].group) == 0)
            print_call(to, &convctl_calls[i]);
    }
    fputs("\nThe bus is found by NATS_URL, NATS_URL_FILE or --nats; NATS_CA_FILE names its CA "
          "certificates.\n"
          "A password in --nats can be seen by all users of the machine: use NATS_URL or\n"
          "NATS_URL_FILE instead.\n"
          "Prints one JSON value (audit export: one on each line) and exits 0, or\n"
          "{\"error\":{\"code\",\"message\"}} on standard error and exits 1; exits 2 when used "
          "wrongly.\n",
          to);
}
