/* tools/check-words finds retired words, says what to use, and finds nothing else. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char root[] = "/tmp/check-words.XXXXXX";
static char output[4096];

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
    cr_assert_eq(shell(command), 0);
    file = fopen(full, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_tree(void)
{
    cr_assert_not_null(mkdtemp(root));
    write_file("docs/glossary.md",
               "## Terms\n\n| term | meaning | where |\n| --- | --- | --- |\n"
               "| `gizmo` | not retired | |\n\n"
               "## Retired words\n\n| retired | use | except |\n| --- | --- | --- |\n"
               "| `gadget` | device | `old_gadget_total`, `docs/` |\n"
               "| `gear_` | wheel_ | |\n"
               "| `_LOTS` | _MAX | |\n"
               "| `struct knob` | struct control | |\n"
               "| `is fed up` | has ended | |\n");
}

static void remove_tree(void)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", root);
    cr_assert_eq(shell(command), 0);
}

TestSuite(check_words, .init = make_tree, .fini = remove_tree);

/* Its exit status over a tree with this file; what it printed is in `output`. */
static int check(const char *path, const char *text)
{
    char command[160];
    FILE *file;

    write_file(path, text);
    snprintf(command, sizeof(command), "tools/check-words %s >%s/out 2>&1", root, root);
    int status = shell(command);

    snprintf(command, sizeof(command), "%s/out", root);
    file = fopen(command, "r");
    cr_assert_not_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    return status;
}

static void expect_found(const char *path, const char *text, const char *found)
{
    cr_expect_eq(check(path, text), 1, "%s", text);
    cr_expect_not_null(strstr(output, found), "%s: %s", text, output);
}

Test(check_words, names_the_line_and_what_to_use)
{
    expect_found("common/x.c", "int a;\nint gadget;\n",
                 "check-words: common/x.c:2: gadget: `gadget` is retired, use device\n");
}

Test(check_words, finds_a_word_its_plural_and_parts_of_identifiers)
{
    expect_found("services/a/sql/x.sql", "-- The gadgets.\n", "gadgets: `gadget`");
    expect_found("services/a/sql/x.sql", "SELECT my_gadget_id\n", "use device");
    expect_found("services/a/sql/x.sql", "-- Gadget\n", "use device");
    expect_found("services/a/sql/x.sql", "-- It is fed\n-- up.\n-- is fed up\n", "use has ended");
}

Test(check_words, finds_prefixes_suffixes_and_tags)
{
    expect_found("common/x.c", "gear_new();\n", "use wheel_");
    expect_found("common/x.c", "#define TEETH_LOTS 3\n", "use _MAX");
    expect_found("common/x.c", "struct knob *knob;\n", "use struct control");
    cr_expect_eq(check("common/x.c", "/* A knob of a gear, lots of them: inspect_gear(LOTS); */\n"),
                 0, "%s", output);
}

Test(check_words, finds_names_of_files)
{
    expect_found("common/gadget.h", "\n", "common/gadget.h: the name: ");
}

Test(check_words, lets_pass_what_is_excepted_and_what_is_not_retired)
{
    cr_expect_eq(check("common/x.c", "\"old_gadget_total\"; gizmo; gadgetry; ungadget\n"), 0, "%s",
                 output);
    cr_expect_eq(check("docs/x.md", "A gadget.\n"), 0, "%s", output);
    cr_expect_eq(check("services/a/migrations/0001_x.sql", "gadget\n"), 0, "%s", output);
    cr_expect_eq(check("CHANGELOG.md", "gadget\n"), 0, "%s", output);
}

Test(check_words, fails_without_a_table)
{
    write_file("docs/glossary.md", "# Glossary\n");
    cr_expect_eq(check("common/x.c", "\n"), 1);
    cr_expect_not_null(strstr(output, "no retired words"));
}
