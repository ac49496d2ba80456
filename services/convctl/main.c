/*
 * convctl - administers a deployment over the bus. See --help.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "common/bus/bus.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"
#include "services/convctl/arguments.h"
#include "services/convctl/bus_client.h"
#include "services/convctl/cell_move.h"
#include "services/convctl/output.h"
#include "services/convctl/paginate.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2 };
#define MEMORY_MAX (64 * 1024 * 1024) /* several times the size of a reply */
#define LINE_LIMIT 8192

struct convctl_config {
    const char *nats_url;
    struct bus_settings bus_settings;
    const char *cell_databases;
};

static const struct setting settings[] = {
    {.name = "NATS_URL",
     .type = SETTING_STRING,
     .offset = offsetof(struct convctl_config, nats_url),
     .fallback = "",
     .secret = true,
     .meaning = "NATS URL; may contain credentials"},
    BUS_SETTINGS(struct convctl_config, bus_settings),
    {.name = "CELL_DATABASES",
     .type = SETTING_STRING,
     .offset = offsetof(struct convctl_config, cell_databases),
     .fallback = "",
     .secret = true,
     .meaning = "Databases of the cells, with their administrators: NAME=URL, separated by blanks"},
};

/* Returns the exit status. */
static int fail(struct arena *arena, const struct convctl_failure *failure)
{
    struct buf out;

    buf_init(&out, arena, 256);
    buf_add(&out, STR("{\"error\":{"));
    json_add_key(&out, "code");
    json_add_string(&out, str_of(failure->code));
    json_add_key(&out, "message");
    json_add_string(&out, str_of(failure->message));
    buf_add(&out, STR("}}\n"));
    fwrite(out.p, 1, out.n, stderr);
    return strcmp(failure->code, "usage") == 0 ? EXIT_USAGE : EXIT_REFUSED;
}

static int usage(struct arena *arena, const char *message)
{
    return fail(arena, &(struct convctl_failure){"usage", message});
}

/* Reads the first line of standard input, without its line end. */
static bool read_line(json_t *body, const char *field)
{
    char line[LINE_LIMIT];
    bool done = false;

    if (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        done = json_object_set_new(body, field, json_string(line)) == 0;
    }
    crypto_wipe(line, sizeof(line));
    return done;
}

static struct str body_text(json_t *body, struct arena *arena)
{
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    struct str copy = text != NULL ? arena_str(arena, str_of(text)) : STR("");

    free(text);
    return copy;
}

/* Removes the spaces that PostgreSQL puts between tokens; our own code puts none. */
static bool print_answer(struct str json, struct arena *arena)
{
    struct buf compact;

    buf_init(&compact, arena, json.n + 1);
    json_add_compact(&compact, json);
    return output_print(buf_str(&compact));
}

static bool is_paginated(enum convctl_kind kind)
{
    return kind >= CONVCTL_READS_LAST && kind <= CONVCTL_READS_PART;
}

static int run(const struct arguments *arguments, const struct convctl_config *config,
               struct arena *arena)
{
    const enum convctl_kind kind = arguments->call->kind;
    struct convctl_failure failure;
    struct str answer;
    enum status st;
    struct bus_client_request request = {
        .nats_url = arguments->nats_url != NULL ? arguments->nats_url : config->nats_url,
        .bus_settings = &config->bus_settings,
        .subject = arguments->call->subject,
        .organization = arguments->organization,
        .only_reads = kind >= CONVCTL_READS,
    };

    if (request.nats_url[0] == '\0')
        return usage(arena, "no bus is given: set NATS_URL or use --nats URL");
    if (arguments->stdin_field != NULL && !read_line(arguments->body, arguments->stdin_field))
        return usage(arena, "standard input has no line of UTF-8 text");
    if (is_paginated(kind))
        return paginate(&request, arguments->body, kind, arena, &failure) == ST_OK
                   ? 0
                   : fail(arena, &failure);
    request.body = body_text(arguments->body, arena);
    if (kind == CONVCTL_READS_SERVICES)
        st = list_services(&request, arena, &answer, &failure);
    else if (kind == CONVCTL_MOVES)
        st = cell_move(&request, arguments->body, config->cell_databases, arena, &answer, &failure);
    else
        st = bus_client_send_once(&request, arena, &answer, &failure);
    if (st != ST_OK)
        return fail(arena, &failure);
    if (!print_answer(answer, arena))
        return fail(arena, &(struct convctl_failure){"output", "cannot write the output"});
    return 0;
}

static int work(int argc, const char *const *argv, struct arguments *arguments, struct arena *arena)
{
    static struct convctl_config config;
    char error[256];

    if (arguments_read(argc, argv, arguments, error) != ST_OK)
        return usage(arena, error);
    if (arguments->version)
        return version_print();
    if (arguments->help) {
        help_print(stdout, arguments->group);
        return 0;
    }
    if (config_load(settings, ARRAY_SIZE(settings), &config, error) != ST_OK)
        return usage(arena, error);
    return run(arguments, &config, arena);
}

int main(int argc, char **argv)
{
    struct arguments arguments;
    struct arena arena;
    int code;

    crypto_open();
    arena_init(&arena, MEMORY_MAX);
    /* Standard error is reserved for one JSON object, which also reports failures of the bus. */
    log_open("convctl", NULL, NULL, LOG_OFF);
    code = work(argc, (const char *const *)argv, &arguments, &arena);
    arguments_release(&arguments);
    arena_release(&arena);
    return code;
}
