/*
 * nats-config - prints the users of nats-server and what each may do, from proto/subject.def.
 *
 *     nats-config [--second] [--passwords STEM]
 *     nats-config --version
 *
 *     --second           every user twice: gateway-2 may do what gateway may, so that programs can
 *                        go over to other passwords one by one
 *     --passwords STEM   passwords are the first lines of the files STEMadmin, STEMgateway, ...;
 *                        otherwise variables, $NATS_GATEWAY_PASSWORD, $NATS_GATEWAY_2_PASSWORD,
 *                        ..., which the server finds in its configuration or environment
 *
 * The server's own file includes the output. A service may answer each message once, to wherever that
 * message asked (allow_responses). It may publish to an inbox only where that is for replies to bundles of
 * its own commands.
 *
 * Exit: 0, 1 a password cannot be read or used, 2 wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "proto/subject.h"

enum { PASSWORD_MAX = 256, PATH_LIMIT = 4096 };

struct options {
    bool second;
    const char *stem; /* NULL: passwords are variables */
};

/* -- passwords --------------------------------------------------------------------------------- */

static void print_variable(const char *name)
{
    fputs("$NATS_", stdout);
    for (; *name != '\0'; name++)
        putchar(*name == '-' ? '_' : ascii_upper(*name));
    fputs("_PASSWORD", stdout);
}

/* What needs no escapes between quotes. */
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

static void print_item(int *n, const char *subject, const char *rest)
{
    printf("%s          \"%s%s\"\n", (*n)++ == 0 ? "allow: [\n" : "", subject, rest);
}

static void close_list(int n)
{
    puts(n == 0 ? "deny: \">\" }" : "        ] }");
}

/* The one user that sends bundles of a subject. */
static enum bus_user sender_of(const struct bus_permission *bundle)
{
    int user = 0;

    must(bundle->senders != 0 && (bundle->senders & (bundle->senders - 1)) == 0);
    while (bundle->senders >> user != 1)
        user++;
    return (enum bus_user)user;
}

/* Several answers to a bundle: more than allow_responses allows. */
static void print_replies(const struct bus_permission *bundle, int *n)
{
    char rest[128];

    snprintf(rest, sizeof(rest), ".*.%s.*", bundle->subject);
    print_item(n, bus_user_inbox(sender_of(bundle)), rest);
}

static const char *suffix_of(const struct bus_permission *permission)
{
    return permission->kind == BUS_BUNDLE ? ".bundle" : "";
}

static void print_publish(enum bus_user user)
{
    int n = 0;

    fputs("        publish: { ", stdout);
    for (size_t i = 0; i < n_bus_permissions; i++) {
        const struct bus_permission *permission = &bus_permissions[i];

        if (permission->senders >> user & 1)
            print_item(&n, permission->subject, suffix_of(permission));
        if (permission->kind == BUS_BUNDLE && permission->listeners >> user & 1)
            print_replies(permission, &n);
    }
    if (bus_user_discovers(user))
        print_item(&n, "$SRV", ".>");
    if (bus_user_checks_clock(user))
        print_item(&n, BUS_CLOCK_SUBJECT, "");
    if (bus_user_reads_stats(user))
        print_item(&n, BUS_STATS_SUBJECT, "");
    if (bus_user_asks(user))
        print_item(&n, bus_user_inbox(user), ".>"); /* to hear whether the server is alive */
    close_list(n);
}

/* All services are asked for, all of one name, or one process of it. No wildcard ends a subject but
   the last: to nats-server 2.9 "$SRV.>" is one of "$SRV.*". */
static void print_discovery(enum bus_user user, int *n)
{
    const char *name = bus_user_name(user);
    char subject[64];

    for (size_t i = 0; i < BUS_DISCOVERY_VERBS; i++)
        print_item(n, bus_discovery_verbs[i], "");
    snprintf(subject, sizeof(subject), ".%s", name);
    print_item(n, "$SRV.*", subject);
    snprintf(subject, sizeof(subject), ".%s.*", name);
    print_item(n, "$SRV.*", subject);
}

/* "SUBJECT GROUP" allows that queue group alone. */
static void print_subscribe(enum bus_user user)
{
    char rest[64];
    int n = 0;

    fputs("        subscribe: { ", stdout);
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].listeners >> user & 1) {
            snprintf(rest, sizeof(rest), "%s%s%s", suffix_of(&bus_permissions[i]),
                     bus_permissions[i].kind == BUS_NOTICE ? "" : " ",
                     bus_permissions[i].kind == BUS_NOTICE ? "" : bus_user_name(user));
            print_item(&n, bus_permissions[i].subject, rest);
        }
    if (bus_user_answers(user))
        print_discovery(user, &n);
    if (bus_user_asks(user))
        print_item(&n, bus_user_inbox(user), ".>");
    close_list(n);
}

static void print_permissions(enum bus_user user)
{
    puts("      permissions: {");
    print_publish(user);
    print_subscribe(user);
    if (bus_user_answers(user))
        puts("        allow_responses: { max: 1, expires: \"1m\" }");
    puts("      }");
}

enum { ADMIN = -1 };

static bool print_one(const struct options *options, int user, const char *suffix)
{
    char name[64];

    snprintf(name, sizeof(name), "%s%s",
             user == ADMIN ? "admin" : bus_user_name((enum bus_user)user), suffix);
    if (!print_user(options->stem, name))
        return false;
    if (user != ADMIN)
        print_permissions((enum bus_user)user);
    puts("    }");
    return true;
}

static bool print_all(const struct options *options)
{
    fputs("# Made by nats-config from proto/subject.def.\nauthorization {\n  users: [\n", stdout);
    for (int user = ADMIN; user < BUS_USER_COUNT; user++)
        if (!print_one(options, user, "") || (options->second && !print_one(options, user, "-2")))
            return false;
    puts("  ]\n}");
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int i = 1;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return version_print();
    if (i < argc && strcmp(argv[i], "--second") == 0) {
        options.second = true;
        i++;
    }
    if (i + 1 < argc && strcmp(argv[i], "--passwords") == 0) {
        options.stem = argv[i + 1];
        i += 2;
    }
    if (i != argc) {
        fputs("usage: nats-config [--second] [--passwords STEM] | --version\n", stderr);
        return 2;
    }
    return print_all(&options) && fflush(stdout) == 0 ? 0 : 1;
}
