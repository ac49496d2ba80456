/* tools/check-layers finds what points the wrong way, and nothing else. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/str.h"

static char root[64];

static int shell(const char *command)
{
    int status = system(command);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void write_file(const char *path, const char *text)
{
    char command[256], full[160];
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname %s)\"", full);
    cr_assert(shell(command) == 0);
    file = fopen(full, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Exit status of the check over a tree that holds one file with this line; by this table, or by ours
   where it is NULL. */
static int check_by(const char *table, const char *path, const char *line)
{
    static const char *const folders[] = {"common", "proto", "services", "deploy", "tests"};
    char command[160];
    int status;

    strcpy(root, "/tmp/check-layers.XXXXXX");
    cr_assert(mkdtemp(root) != NULL);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        char folder[160];

        snprintf(folder, sizeof(folder), "%s/%s", root, folders[i]);
        cr_assert(mkdir(folder, 0700) == 0);
    }
    write_file(path, line);
    if (table != NULL)
        write_file("tools/layers.txt", table);
    snprintf(command, sizeof(command), "tools/check-layers %s >%s/out 2>&1", root, root);
    status = shell(command);
    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert(shell(command) == 0);
    return status;
}

static int check(const char *path, const char *line)
{
    return check_by(NULL, path, line);
}

Test(check_layers, lets_through_what_follows_the_arrows)
{
    cr_assert(check("common/json/x.c", "#include \"common/base/buf.h\"\n") == 0);
    cr_assert(check("services/a/x.c", "#include \"services/a/x.h\"\n") == 0);
    cr_assert(check("services/a/x.c", "#include \"common/db/db.h\"\n") == 0);
    cr_assert(check("common/db/x.c", "#include <libpq-fe.h>\n") == 0);
    cr_assert(check("tests/unit/x.c", "#include \"services/a/x.h\"\n") == 0);
    cr_assert(check("common/base/x.c", "#include <stdio.h>\n") == 0);
}

Test(check_layers, refuses_an_arrow_that_points_back)
{
    cr_assert(check("common/base/x.c", "#include \"common/json/json.h\"\n") == 1);
    cr_assert(check("common/bus/x.h", "  #  include \"common/db/db.h\"\n") == 1);
    cr_assert(check("common/actor/x.c", "#include \"services/a/x.h\"\n") == 1);
    cr_assert(check("common/base/x.c", "#include \"tests/support/x.h\"\n") == 1);
}

Test(check_layers, refuses_an_arrow_that_nothing_follows)
{
    cr_assert(check_by("may common/base\nmay common/json common/base\n", "common/json/x.c",
                       "#include \"common/base/buf.h\"\n") == 0);
    cr_assert(check_by("may common/base\nmay common/json common/base\n", "common/json/x.c",
                       "#include \"common/json/json.h\"\n") == 1);
    cr_assert(check_by("may SERVICE common proto\n", "services/a/x.c",
                       "#include \"common/base/buf.h\"\n") == 1);
    cr_assert(check_by("may SERVICE common\n", "services/a/x.c",
                       "#include \"common/base/buf.h\"\n") == 0);
}

Test(check_layers, refuses_a_service_that_knows_another)
{
    cr_assert(check("services/a/x.c", "#include \"services/b/x.h\"\n") == 1);
    cr_assert(check("services/a/x.c", "#include \"services/ab/x.h\"\n") == 1);
}

Test(check_layers, refuses_a_foreign_header_outside_its_home)
{
    cr_assert(check("services/a/x.c", "#include <libpq-fe.h>\n") == 1);
    cr_assert(check("common/json/x.c", "#include <openssl/evp.h>\n") == 1);
    cr_assert(check("services/a/x.c", "#include <nats/nats.h>\n") == 1);
}

Test(check_layers, refuses_a_folder_that_nobody_placed)
{
    cr_assert(check("common/fresh/x.c", "#include <stdio.h>\n") == 1);
}
