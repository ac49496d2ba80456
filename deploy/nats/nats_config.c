/*
 * nats-config - prints the users of nats-server with their permissions, from proto/subject.def.
 *
 *     nats-config [--second] [--cell NAME]... [--passwords STEM | --nsc]
 *     nats-config --version
 *
 *     --second           every user twice: gateway-2 may do the same as gateway, so that programs
 *                        can change to other passwords one by one
 *     --cell NAME        a cell beside main: the users of its services are called NAME-conversation
 *                        and so on, and all other users have the same permissions in it as in main
 *     --passwords STEM   passwords are the first lines of the files STEMadmin, STEMgateway, ...; by
 *                        default they are variables, $NATS_GATEWAY_PASSWORD,
 *                        $NATS_GATEWAY_2_PASSWORD, ..., which the server finds in its configuration
 *                        or environment
 *     --nsc              instead of a configuration, a command line of nsc for each user, for a server
 *                        whose users have JWTs
 *
 * The server's own file includes the output. A service may publish to an inbox only what replies to
 * its own commands. To any other reply subject, which a stock client chose, it may reply once, over
 * the connection that the message came by (allow_responses).
 *
 * Exit: 0, 1 a password cannot be read or used, 2 wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/cell.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "proto/subject.h"

enum { PASSWORD_MAX = 256, PATH_LIMIT = 4096, CELLS_MAX = 64 };

struct options {
    bool second, nsc;
    const char *stem;             /* NULL: passwords are variables */
    const char *cells[CELLS_MAX]; /* the first is main */
    size_t n_cells;
};

/* The user to print, and the cells whose subjects it uses: only its own for a cell's service. */
struct whom {
    enum bus_user user;
    const char *const *cells;
    size_t n_cells;
    bool for_nsc;
};

/* Subjects, of which `n` are printed. */
struct list {
    const char *option; /* of nsc; NULL: for the server's file */
    int n;
};

/* -- passwords --------------------------------------------------------------------------------- */

static void print_variable(const char *name)
{
    fputs("$NATS_", stdout);
    for (; *name != '\0'; name++)
        putchar(*name == '-' ? '_' : ascii_upper(*name));
    fputs("_PASSWORD", stdout);
}

/* Whether it needs no escapes between quotes. */
static bool is_plain(const char *password)
{
    for (const char *p = password; *p != '\0'; p++)
        if (*p <= ' ' || *p >= 0x7f || *p == '"' || *p == '\\')
            return false;
    return *password != '\0';
}

static bool print_password(const char *stem, const char *name)
{
    char path[PATH_LIMIT], password[PASSWORD_MAX] = "";
    FILE *file;
    bool is_usable;

    snprintf(path, sizeof(path), "%s%s", stem, name);
    file = fopen(path, "re");
    is_usable = file != NULL && fgets(password, sizeof(password), file) != NULL;
    if (file != NULL)
        fclose(file);
    password[strcspn(password, "\n")] = '\0';
    is_usable = is_usable && is_plain(password);
    if (is_usable)
        printf("\"%s\"", password);
    else
        fprintf(stderr, "nats-config: %s holds no password of printable ASCII without \" and \\\n",
                path);
    explicit_bzero(password, sizeof(password));
    return is_usable;
}

static bool print_user(const char *stem, const char *name)
{
    printf("    {\n      user: \"%s\", password: ", name);
    if (stem != NULL && !print_password(stem, name))
        return false;
    if (stem == NULL)
        print_variable(name);
    putchar('\n');
    return true;
}

/* -- permissions ------------------------------------------------------------------------------- */

static struct list begin_list(const struct whom *whom, const char *of, const char *option)
{
    if (!whom->for_nsc)
        printf("        %s: { ", of);
    return (struct list){.option = whom->for_nsc ? option : NULL};
}

static void print_item(struct list *list, const char *subject, const char *rest)
{
    const bool is_first = list->n++ == 0;

    if (list->option == NULL)
        printf("%s          \"%s%s\"\n", is_first ? "allow: [\n" : "", subject, rest);
    else if (is_first)
        printf(" --allow-%s '%s%s", list->option, subject, rest);
    else
        printf(",%s%s", subject, rest);
}

static void close_list(const struct list *list)
{
    if (list->option == NULL)
        puts(list->n == 0 ? "deny: \">\" }" : "        ] }");
    else if (list->n == 0)
        printf(" --deny-%s '>'", list->option);
    else
        putchar('\'');
}

/* Replies to requests for that subject, in the inbox of a user. */
static void print_reply(enum bus_user asker, const char *subject, struct list *list)
{
    char rest[CELL_SUBJECT_CAPACITY + 8];

    snprintf(rest, sizeof(rest), ".*.%s.*", subject);
    print_item(list, bus_user_inbox(asker), rest);
}

static void print_replies(const struct bus_permission *mailbox, const char *subject,
                          struct list *list)
{
    for (enum bus_user asker = 0; asker < BUS_USER_COUNT; asker++)
        if (bus_user_asks_at(asker, mailbox))
            print_reply(asker, subject, list);
}

static void print_clock_replies(struct list *list)
{
    for (enum bus_user asker = 0; asker < BUS_USER_COUNT; asker++)
        if (bus_user_checks_clock(asker))
            print_reply(asker, BUS_CLOCK_SUBJECT, list);
}

/* The number of cells in which a subject has different names. */
static size_t count_cells(const struct whom *whom, const struct bus_permission *permission)
{
    return subject_is_of_cell(permission->subject) ? whom->n_cells : 1;
}

static void print_sent(const struct whom *whom, const struct bus_permission *permission,
                       struct list *list)
{
    char in_cell[CELL_SUBJECT_CAPACITY];

    for (size_t i = 0; i < count_cells(whom, permission); i++) {
        const char *subject = subject_in_cell(permission->subject, whom->cells[i], in_cell);

        if (permission->senders >> whom->user & 1)
            print_item(list, subject, "");
        if (permission->kind == BUS_MAILBOX && permission->listeners >> whom->user & 1)
            print_replies(permission, subject, list);
    }
}

static void print_publish(const struct whom *whom)
{
    const enum bus_user user = whom->user;
    struct list list = begin_list(whom, "publish", "pub");

    for (size_t i = 0; i < n_bus_permissions; i++)
        print_sent(whom, &bus_permissions[i], &list);
    if (bus_user_discovers(user))
        print_item(&list, "$SRV", ".>");
    if (bus_user_checks_clock(user))
        print_item(&list, BUS_CLOCK_SUBJECT, "");
    if (user == BUS_USER_ACCESS)
        print_clock_replies(&list);
    if (bus_user_reads_stats(user))
        print_item(&list, BUS_STATS_SUBJECT, "");
    if (bus_user_asks(user))
        print_item(&list, bus_user_inbox(user), ".>"); /* for the heartbeat */
    close_list(&list);
}

/* Requests to all services, to all of one name, or to one process of it. Only the last subject ends
   with a wildcard: nats-server 2.9 considers "$SRV.>" a subset of "$SRV.*". */
static void print_discovery(enum bus_user user, struct list *list)
{
    const char *name = bus_user_name(user);
    char subject[64];

    for (size_t i = 0; i < BUS_DISCOVERY_VERBS; i++)
        print_item(list, bus_discovery_verbs[i], "");
    snprintf(subject, sizeof(subject), ".%s", name);
    print_item(list, "$SRV.*", subject);
    snprintf(subject, sizeof(subject), ".%s.*", name);
    print_item(list, "$SRV.*", subject);
}

/* "SUBJECT GROUP" permits only that queue group. */
static void print_heard(const struct whom *whom, const struct bus_permission *permission,
                        struct list *list)
{
    const bool has_group = permission->kind != BUS_NOTICE;
    char in_cell[CELL_SUBJECT_CAPACITY], rest[64];

    snprintf(rest, sizeof(rest), "%s%s", has_group ? " " : "",
             has_group ? bus_user_name(whom->user) : "");
    for (size_t i = 0; i < count_cells(whom, permission); i++)
        print_item(list, subject_in_cell(permission->subject, whom->cells[i], in_cell), rest);
}

static void print_subscribe(const struct whom *whom)
{
    const enum bus_user user = whom->user;
    struct list list = begin_list(whom, "subscribe", "sub");

    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].listeners >> user & 1)
            print_heard(whom, &bus_permissions[i], &list);
    if (bus_user_answers(user))
        print_discovery(user, &list);
    if (bus_user_asks(user))
        print_item(&list, bus_user_inbox(user), ".>");
    close_list(&list);
}

static void print_permissions(const struct whom *whom)
{
    puts("      permissions: {");
    print_publish(whom);
    print_subscribe(whom);
    if (bus_user_answers(whom->user))
        puts("        allow_responses: { max: 1, expires: \"1m\" }");
    puts("      }");
}

/* -- users ------------------------------------------------------------------------------------- */

/* `whom` NULL: the administrator. */
static bool print_for_server(const char *stem, const char *name, const struct whom *whom)
{
    if (!print_user(stem, name))
        return false;
    if (whom != NULL)
        print_permissions(whom);
    puts("    }");
    return true;
}

static void print_for_nsc(const char *name, const struct whom *whom)
{
    printf("nsc add user --name %s", name);
    if (whom != NULL) {
        print_publish(whom);
        print_subscribe(whom);
    }
    if (whom != NULL && bus_user_answers(whom->user))
        fputs(" --allow-pub-response=1 --response-ttl 1m", stdout);
    putchar('\n');
}

/* Prints a user, and a second one with another password if requested. NULL: the administrator. */
static bool print_one(const struct options *options, const char *name, const struct whom *whom)
{
    char second[64];

    snprintf(second, sizeof(second), "%s-2", name);
    for (int i = 0; i < (options->second ? 2 : 1); i++) {
        const char *const who = i == 0 ? name : second;

        if (options->nsc)
            print_for_nsc(who, whom);
        else if (!print_for_server(options->stem, who, whom))
            return false;
    }
    return true;
}

static bool print_of_cell(const struct options *options, const char *const *cell)
{
    char name[64];

    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        const struct whom whom = {user, cell, 1, options->nsc};

        snprintf(name, sizeof(name), "%s-%s", *cell, bus_user_name(user));
        if (bus_user_is_of_cell(user) && !print_one(options, name, &whom))
            return false;
    }
    return true;
}

static bool print_all(const struct options *options)
{
    fputs("# Made by nats-config from proto/subject.def.\n", stdout);
    if (!options->nsc)
        fputs("authorization {\n  users: [\n", stdout);
    if (!print_one(options, "admin", NULL))
        return false;
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        const struct whom whom = {user, options->cells,
                                  bus_user_is_of_cell(user) ? 1 : options->n_cells, options->nsc};

        if (!print_one(options, bus_user_name(user), &whom))
            return false;
    }
    for (size_t i = 1; i < options->n_cells; i++)
        if (!print_of_cell(options, &options->cells[i]))
            return false;
    if (!options->nsc)
        puts("  ]\n}");
    return true;
}

static bool add_cell(struct options *options, const char *name)
{
    for (size_t i = 0; i < options->n_cells; i++)
        if (strcmp(options->cells[i], name) == 0)
            return false;
    if (!cell_is_name(str_of(name)) || options->n_cells == CELLS_MAX)
        return false;
    options->cells[options->n_cells++] = name;
    return true;
}

static bool read_options(int argc, char **argv, struct options *out)
{
    *out = (struct options){.cells = {CELL_MAIN}, .n_cells = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--second") == 0)
            out->second = true;
        else if (strcmp(argv[i], "--nsc") == 0)
            out->nsc = true;
        else if (i + 1 < argc && strcmp(argv[i], "--passwords") == 0)
            out->stem = argv[++i];
        else if (i + 1 == argc || strcmp(argv[i], "--cell") != 0 || !add_cell(out, argv[++i]))
            return false;
    }
    return !out->nsc || out->stem == NULL;
}

int main(int argc, char **argv)
{
    struct options options;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return version_print();
    if (!read_options(argc, argv, &options)) {
        fputs("usage: nats-config [--second] [--cell NAME]... [--passwords STEM | --nsc] | "
              "--version\n",
              stderr);
        return 2;
    }
    return print_all(&options) && fflush(stdout) == 0 ? 0 : 1;
}
