/*
 * nats-config - prints the users of nats-server and what each may do, from proto/subject.def.
 *
 *     nats-config                    passwords are variables: $NATS_GATEWAY_PASSWORD and so on,
 * which the server finds in its configuration or environment nats-config --passwords STEM passwords
 * are the first lines of the files STEMadmin, STEMgateway and so on
 *
 * The server's own file includes the output. A service may publish to no inbox; it may answer each
 * message once, to wherever that message asked (allow_responses).
 *
 * Exit: 0, 1 a password cannot be read or used, 2 wrong usage.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto/permission.h"

enum { PASSWORD_MOST = 256, PATH_MOST = 4096 };

/* -- passwords --------------------------------------------------------------------------------- */

static void print_variable(const char *name)
{
    fputs("$NATS_", stdout);
    for (; *name != '\0'; name++)
        putchar(toupper((unsigned char)*name));
    fputs("_PASSWORD", stdout);
}

/* What needs no escapes between quotes. */
static bool is_plain(const char *password)
{
    for (const char *p = password; *p != '\0'; p++)
        if (!isgraph((unsigned char)*p) || *p == '"' || *p == '\\')
            return false;
    return *password != '\0';
}

static bool print_password(const char *stem, const char *name)
{
    char path[PATH_MOST], password[PASSWORD_MOST] = "";
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

static void print_publish(enum bus_user user)
{
    int n = 0;

    fputs("        publish: { ", stdout);
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].senders >> user & 1)
            print_item(&n, bus_permissions[i].subject, "");
    if (bus_user_asks(user))
        print_item(&n, bus_user_inbox(user), ".>"); /* to hear whether the server is alive */
    close_list(n);
}

/* "SUBJECT GROUP" allows that queue group alone. */
static void print_subscribe(enum bus_user user)
{
    char group[64];
    int n = 0;

    snprintf(group, sizeof(group), " %s", bus_user_name(user));
    fputs("        subscribe: { ", stdout);
    for (size_t i = 0; i < n_bus_permissions; i++)
        if (bus_permissions[i].listeners >> user & 1)
            print_item(&n, bus_permissions[i].subject,
                       bus_permissions[i].kind == BUS_MAILBOX ? group : "");
    if (bus_user_asks(user))
        print_item(&n, bus_user_inbox(user), ".>");
    close_list(n);
}

static bool print_all(const char *stem)
{
    fputs("# Made by nats-config from proto/subject.def.\nauthorization {\n  users: [\n", stdout);
    if (!print_user(stem, "admin"))
        return false;
    puts("    }");
    for (enum bus_user user = 0; user < BUS_USER_COUNT; user++) {
        if (!print_user(stem, bus_user_name(user)))
            return false;
        puts("      permissions: {");
        print_publish(user);
        print_subscribe(user);
        if (bus_user_answers(user))
            puts("        allow_responses: { max: 1, expires: \"1m\" }");
        puts("      }\n    }");
    }
    puts("  ]\n}");
    return true;
}

int main(int argc, char **argv)
{
    const char *stem = argc == 3 && strcmp(argv[1], "--passwords") == 0 ? argv[2] : NULL;

    if (argc != 1 && stem == NULL) {
        fputs("usage: nats-config [--passwords STEM]\n", stderr);
        return 2;
    }
    return print_all(stem) && fflush(stdout) == 0 ? 0 : 1;
}
