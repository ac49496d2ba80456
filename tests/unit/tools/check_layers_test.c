/* tools/check-layers finds dependencies in the wrong direction or in a circle, and nothing else. */
#include <sys/stat.h>

#include "common/base/str.h"
#include "tests/unit/tools/check_tree.h"

/* `table` NULL: our own. */
static void open_folders(const char *table)
{
    static const char *const folders[] = {"common", "proto", "services", "deploy", "tests"};

    open_tree();
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        char folder[160];

        snprintf(folder, sizeof(folder), "%s/%s", root, folders[i]);
        cr_assert(mkdir(folder, 0700) == 0);
    }
    if (table != NULL)
        write_file("tools/layers.txt", table);
}

static int check_tree(void)
{
    const int status = run_check("check-layers");

    remove_tree();
    return status;
}

/* The exit status of the check over a tree of one file with this line. */
static int check_by(const char *table, const char *path, const char *line)
{
    open_folders(table);
    write_file(path, line);
    return check_tree();
}

static int check(const char *path, const char *line)
{
    return check_by(NULL, path, line);
}

Test(check_layers, accepts_includes_that_follow_the_arrows)
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

Test(check_layers, refuses_a_service_that_includes_another)
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

Test(check_layers, refuses_a_folder_without_a_layer)
{
    cr_assert(check("common/fresh/x.c", "#include <stdio.h>\n") == 1);
}

Test(check_layers, accepts_sql_that_names_its_own_schema_and_listed_names)
{
    cr_assert(check("services/audit/sql/x.sql", "SELECT FROM audit.entries\n") == 0);
    cr_assert(check("services/search/sql/x.sql", "SELECT FROM conversation.contacts\n") == 0);
    cr_assert(check("services/webhook/migrations/0001_x.sql", "SELECT FROM cell.moves\n") == 0);
    cr_assert(check("common/audit_log/sql/x.sql", "SELECT FROM audit.entries\n") == 0);
    cr_assert(check("services/audit/sql/x.sql", "-- like access.users\nSELECT a.access\n") == 0);
}

Test(check_layers, refuses_sql_that_names_another_schema)
{
    cr_assert(check("services/webhook/sql/x.sql", "SELECT FROM access.users\n") == 1);
    cr_assert(check("services/search/sql/x.sql", "SELECT FROM conversation.messages\n") == 1);
    cr_assert(check("services/audit/sql/x.sql", "SELECT to_regclass('access.users')\n") == 1);
    cr_assert(check("services/audit/migrations/0001_x.sql", "TABLE webhook.events;\n") == 1);
    cr_assert(check("common/actor/sql/x.sql", "SELECT FROM cell.closed, cell.moves\n") == 1);
}

Test(check_layers, refuses_a_listed_name_that_no_sql_names)
{
    static const char *const table = "schema b services/b\nsql services/a b.t\n";

    cr_assert(check_by(table, "services/a/sql/x.sql", "SELECT FROM b.t\n") == 0);
    cr_assert(check_by(table, "services/a/sql/x.sql", "SELECT 1\n") == 1);
}

/* -- circles ----------------------------------------------------------------------------------- */

#define X "#include \"services/a/x.h\"\n"
#define Y "#include \"services/a/y.h\"\n"

/* The same over two headers and the .c of the first. */
static int check_three(const char *x_c, const char *x_h, const char *y_h)
{
    open_folders(NULL);
    write_file("services/a/x.c", x_c);
    write_file("services/a/x.h", x_h);
    write_file("services/a/y.h", y_h);
    return check_tree();
}

Test(check_layers, accepts_includes_that_do_not_come_back)
{
    cr_assert(check_three(X Y, "", "") == 0);
    cr_assert(check_three(X, Y, "") == 0);
    cr_assert(check_three(X, "", X) == 0);
}

Test(check_layers, refuses_includes_in_a_circle)
{
    cr_assert(check_three(X, Y, X) == 1);
    cr_assert_not_null(strstr(output, "in a circle: services/a/x services/a/y\n"), "%s", output);
    cr_assert(check_three(X Y, "", X) == 1); /* by the .c */
}
