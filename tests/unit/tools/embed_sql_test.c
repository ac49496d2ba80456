/* tools/embed-sql: what it generates from .sql files. In a separate folder. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char root[64];
static char made[4096];

/* Runs it in that folder; returns its exit status. Its output and the files are in `made`. */
static int embed(const char *files)
{
    char command[1024];
    FILE *pipe;
    size_t n;

    snprintf(command, sizeof(command),
             "cd %s && $OLDPWD/tools/embed-sql test . %s 2>&1 && cat test_sql.h test_sql.c", root,
             files);
    pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    n = fread(made, 1, sizeof(made) - 1, pipe);
    made[n] = '\0';
    return pclose(pipe);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void setup(void)
{
    strcpy(root, "/tmp/embed_sql.XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    write_file("put.sql", "-- $1 \"id\"\nINSERT INTO item VALUES ($1)\n");
    write_file("list.sql", "-- columns: id name\n-- columns: at\nSELECT id, name, at FROM item\n");
    write_file("page.sql", "-- columns: total item.* next\nSELECT 1\n");
    write_file("model.h", "/* } */\nenum item_column {\n    ITEM_ID, /* an id, or none */\n"
                          "    ITEM_NAME,\n    ITEM_COLUMNS\n};\n");
}

static void teardown(void)
{
    char command[80];

    snprintf(command, sizeof(command), "rm -r %s", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(embed_sql, .init = setup, .fini = teardown);

static void expect(const char *text)
{
    cr_expect_not_null(strstr(made, text), "%s, not %s", made, text);
}

Test(embed_sql, numbers_statements_and_their_columns_in_order)
{
    cr_assert_eq(embed("put.sql list.sql"), 0, "%s", made);
    expect("enum test_sql {\n    SQL_PUT,\n    SQL_LIST,\n    TEST_SQL_COUNT\n};");
    expect("    LIST_ID = 0,\n    LIST_NAME = 1,\n    LIST_AT = 2,\n};");
    expect("{\"put\",\n     \"-- $1 \\\"id\\\"\\n\"\n     \"INSERT INTO item VALUES ($1)\\n\",\n"
           "     \"\"},");
    expect("     \"id name at\"},");
}

Test(embed_sql, has_no_positions_if_no_statement_returns_columns)
{
    cr_assert_eq(embed("put.sql"), 0, "%s", made);
    cr_expect_null(strstr(made, "enum {"), "%s", made);
}

Test(embed_sql, takes_shared_columns_from_the_enum_of_a_header)
{
    cr_assert_eq(embed("page.sql model.h"), 0, "%s", made);
    expect("    PAGE_TOTAL = 0,\n    PAGE_ITEM = 1,\n    PAGE_NEXT = 3,\n};");
    expect("     \"total id name next\"},");
}

Test(embed_sql, refuses_an_invalid_name)
{
    cr_expect_neq(embed("page.sql"), 0);
    expect("page.sql: `item.*` is not a column, and no header has an enum item_column");
    write_file("list.sql", "-- columns: id, name\nSELECT 1\n");
    cr_expect_neq(embed("list.sql"), 0);
    expect("list.sql: `id,` is not a column");
}
