/*
 * tools/check-contract and tools/check-pages name every place that a change has missed, in one run:
 * each test changes only tables in a copy of the tree.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { OUTPUT_MAX = 64 * 1024 };

static char root[] = "/tmp/check-drift.XXXXXX";
static char output[OUTPUT_MAX];

/* The exit status of a command, which is formatted as by printf(). */
static int __attribute__((format(printf, 1, 2))) shell(const char *pattern, ...)
{
    char command[1024];
    va_list arguments;
    int status;

    va_start(arguments, pattern);
    vsnprintf(command, sizeof(command), pattern, arguments);
    va_end(arguments);
    status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Links to the tree. own() copies a file before a test changes it. */
static void link_tree(void)
{
    cr_assert_not_null(mkdtemp(root));
    cr_assert_eq(shell("ln -s \"$PWD\"/* %s", root), 0);
}

/* Makes the folders on the path real, with links to their contents, and copies the file. */
static void own(const char *path)
{
    static const char script[] =
        "folder=; for part in $(dirname \"$1\" | tr / ' '); do folder=$folder$part;"
        " if [ -L $folder ]; then to=$(readlink $folder); rm $folder; mkdir $folder;"
        " ln -s \"$to\"/* $folder; fi; folder=$folder/; done;"
        " [ ! -L \"$1\" ] || cp --remove-destination \"$(readlink \"$1\")\" \"$1\"";

    cr_assert_eq(shell("cd %s && set -e -- %s && %s", root, path, script), 0, "%s", path);
}

static void remove_tree(void)
{
    cr_assert_eq(shell("rm -rf %s", root), 0);
}

TestSuite(check_drift, .init = link_tree, .fini = remove_tree);

static void add_line(const char *path, const char *line)
{
    char full[256];
    FILE *file;

    own(path);
    snprintf(full, sizeof(full), "%s/%s", root, path);
    file = fopen(full, "ae");
    cr_assert(file != NULL && fprintf(file, "%s\n", line) > 0 && fclose(file) == 0, "%s", path);
}

/* Edits with sed, which must change something. */
static void edit(const char *path, const char *script)
{
    own(path);
    cr_assert_eq(shell("cd %s && cp %s before", root, path), 0);
    cr_assert_eq(shell("cd %s && sed -i -E '%s' %s", root, script, path), 0);
    cr_assert_eq(shell("cd %s && ! cmp -s before %s", root, path), 0, "%s: %s", path, script);
}

static size_t lines(void)
{
    size_t n = 0;

    for (const char *p = output; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

/* The exit status of a check over the copy; its output is in `output`. */
static int check(const char *tool)
{
    char path[64];
    FILE *file;
    int status = shell("tools/%s %s >%s/output 2>&1", tool, root, root);

    snprintf(path, sizeof(path), "%s/output", root);
    file = fopen(path, "re");
    cr_assert_not_null(file);
    output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
    fclose(file);
    return status;
}

/* Expects one run to find these and nothing else. */
static void expect_findings(const char *tool, const char *const *findings, size_t n)
{
    cr_expect_eq(check(tool), n > 0);
    for (size_t i = 0; i < n; i++)
        cr_expect_not_null(strstr(output, findings[i]), "\"%s\" is not among\n%s", findings[i],
                           output);
    cr_expect_eq(lines(), n, "%zu findings instead of %zu:\n%s", lines(), n, output);
}

#define EXPECT(tool, ...)                                                                          \
    expect_findings((tool), (const char *const[]){__VA_ARGS__},                                    \
                    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

Test(check_drift, finds_nothing_in_the_tree_as_it_is)
{
    expect_findings("check-contract", NULL, 0);
    expect_findings("check-pages", NULL, 0);
}

Test(check_drift, names_every_place_that_a_command_needs)
{
    add_line("proto/subject.def",
             "COMMAND(ACCESS_ORG_SUM, \"v1.access.org-sum\", GATEWAY | OPERATOR | DASHBOARD)");
    EXPECT("check-contract", "proto/asyncapi.yaml: lacks v1.access.org-sum of proto/subject.def",
           "services/access/main.c: no handler for v1.access.org-sum",
           "services/convctl/convctl_call.c: nothing sends v1.access.org-sum",
           "services/dashboard/action.def: nothing sends v1.access.org-sum",
           "services/gateway: nothing sends v1.access.org-sum",
           "proto/README.md: lacks v1.access.org-sum",
           "tests/api/every_command.mjs: nothing in it makes convctl or the dashboard send "
           "v1.access.org-sum");
}

Test(check_drift, names_every_place_that_has_a_command_no_more)
{
    edit("proto/subject.def", "/^COMMAND\\(ACCESS_KEY_LIST,/d");
    EXPECT("check-contract", "proto/asyncapi.yaml: has v1.access.key-list, which",
           "services/access/main.c: handles ACCESS_KEY_LIST, which",
           "services/convctl/convctl_call.c: sends ACCESS_KEY_LIST, which",
           "services/dashboard/action.def: sends ACCESS_KEY_LIST, which",
           "proto/README.md: has v1.access.key-list, which");
}

Test(check_drift, finds_commands_sent_without_permission_and_unused_permissions)
{
    edit("proto/subject.def", "s/(\"v1.access.org-create\", )OPERATOR/\\1DASHBOARD/");
    EXPECT("check-contract", "proto/asyncapi.yaml: tags of v1.access.org-create: ['OPERATOR'], ",
           "services/convctl/convctl_call.c: sends v1.access.org-create, which proto/subject.def "
           "does not",
           "services/dashboard/action.def: nothing sends v1.access.org-create");
}

Test(check_drift, finds_a_handler_in_another_service_or_without_its_change)
{
    edit("services/access/organization.c", "s/SUBJECT_ACCESS_ORG_GET/SUBJECT_WEBHOOK_DELIVERIES/");
    edit("services/webhook/delivery.c", "s/SUBJECT_WEBHOOK_DELIVERIES/SUBJECT_ACCESS_ORG_GET/");
    edit("services/webhook/endpoint.c", "s/CHANGE_ENDPOINT_DELETE/CHANGE_NONE/");
    EXPECT("check-contract", "the handler for v1.webhook.deliveries is in services/access/main.c",
           "the handler for v1.access.org-get is in services/webhook/main.c",
           "services/webhook/main.c: v1.webhook.endpoint-delete writes and has no change",
           "services/*/main.c, changes: lacks CHANGE_ENDPOINT_DELETE of proto/change.def");
}

Test(check_drift, finds_a_handler_that_no_service_lists)
{
    edit("services/search/main.c", "s/&search_conversations/NULL/");
    EXPECT("check-contract", "services/search/main.c: does not list search_conversations",
           "services/search/main.c: no handler for v1.search.conversations");
}

Test(check_drift, finds_a_body_that_is_read_without_an_end_or_a_size_and_secrets_that_stay)
{
    edit("services/access/passwords.c", "/FIELDS_END/d");
    edit("services/access/passwords.c", "/has_secrets/d");
    edit("services/access/sign_in.c", "/has_secrets/d");
    edit("services/access/member.c", "/has_secrets/d");
    edit("services/webhook/endpoint.c", "/= delete_fields/{n;s/sizeof\\(.*\\)/0/}");
    EXPECT("check-contract", "services/access/passwords.c: fields does not end with FIELDS_END",
           "services/access/passwords.c: access_password reads password and does not have",
           "services/access/sign_in.c: access_sign_in reads password and does not have",
           "services/access/member.c: access_invitation reads token and does not have has_secrets",
           "services/access/member.c: access_user_create reads password and does not have",
           "services/webhook/endpoint.c: webhook_endpoint_delete has fields and no input_size");
}

Test(check_drift, finds_a_call_that_is_marked_as_reading_but_writes_or_is_untested)
{
    edit("services/convctl/convctl_call.c",
         "s/(\"key\", \\.verb = \"revoke\".*)CONVCTL_CHANGES/\\1CONVCTL_READS/");
    edit("services/convctl/convctl_call.c",
         "s/\"contact\", \\.verb = \"erase\"/\"contact\", .verb = \"wipe\"/");
    EXPECT("check-contract", "services/convctl/convctl_call.c: key revoke is CONVCTL_READS, unlike",
           "tests/integration: no test calls convctl contact wipe");
}

Test(check_drift, finds_a_member_that_is_not_described_or_that_the_audit_log_keeps_quiet_about)
{
    edit("services/convctl/convctl_call.c",
         "/NEEDED\\(\"--name\"/{n; s/\"plan\", ARGUMENT_CHOICE/\"tier\", ARGUMENT_CHOICE/}");
    edit("proto/change.def", "s/\"plan rate_limit\"/\"tier rate_limit\"/");
    edit("proto/README.md", "s/(org-create` .*)\"name\"/\\1\"title\"/");
    EXPECT(
        "check-contract",
        "proto/asyncapi.yaml: the body of ACCESS_ORG_CREATE lacks tier, which convctl org create",
        "proto/change.def: CHANGE_ORGANIZATION_CREATE does not record tier, which",
        "proto/change.def: CHANGE_ORGANIZATION_SET does not record plan, which ACCESS_ORG_SET has",
        "proto/README.md: the body of v1.access.org-create lacks name",
        "proto/README.md: the body of v1.access.org-create lacks tier",
        "proto/change.def: CHANGE_ORGANIZATION_SET records tier, which ACCESS_ORG_SET does not");
}

Test(check_drift, names_every_place_that_an_error_code_needs)
{
    add_line("proto/outcome.def",
             "OUTCOME(OUTCOME_WORN_OUT, \"worn_out\", 409, \"worn_out\", true, CLIENT)");
    add_line("proto/outcome.def",
             "OUTCOME(OUTCOME_SHUT, \"shut_for_today\", 409, \"shut_for_today\", true, PEOPLE)");
    EXPECT("check-contract", "proto/asyncapi.yaml, Outcome: lacks worn_out",
           "proto/asyncapi.yaml, Outcome: lacks shut_for_today",
           "proto/openapi.yaml, ErrorCode: lacks worn_out",
           "proto/openapi.yaml, responses 409: lacks worn_out",
           "proto/openapi.yaml: no description says what worn_out means",
           "docs/api.md: its table of errors lacks worn_out (409)",
           "proto/outcome.def: no code ends with OUTCOME_WORN_OUT",
           "proto/README.md: does not say when shut_for_today is answered",
           "proto/outcome.def: no code ends with OUTCOME_SHUT");
}

Test(check_drift, finds_an_outcome_that_no_test_expects_and_a_result_without_an_outcome)
{
    add_line("services/gateway/api_response.c", "/* OUTCOME_WORN_OUT */");
    add_line("proto/outcome.def",
             "OUTCOME(OUTCOME_WORN_OUT, \"worn_out\", 500, \"server_error\", true, CLIENT)");
    edit("services/access/sql/create_user.sql", "s/email_taken\\)/email_taken, worn_out)/");
    EXPECT("check-contract", "proto/asyncapi.yaml, Outcome: lacks worn_out",
           "tests: none expects OUTCOME_WORN_OUT, worn_out",
           "services/access/access_command.c: lacks worn_out of the comments of its statements");
}

Test(check_drift, finds_a_filter_field_or_an_operator_that_is_not_described)
{
    edit("services/search/filter.c",
         "s/\\{\"state\", FILTER_STATE, EQUALITY/{\"mood\", FILTER_STATE, SETS/");
    edit("docs/api.md", "s/^(\\| `status` \\| `=` `!=` `IN`) `NIN`/\\1/");
    EXPECT("check-contract", "docs/api.md, Search: lacks mood of services/search/filter.c",
           "docs/api.md, Search: has state",
           "docs/api.md, Search, status: lacks NIN of services/search/filter.c",
           "proto/openapi.yaml, filters: lacks mood", "proto/openapi.yaml, filters: has state");
}

Test(check_drift, finds_a_column_that_is_read_by_a_bare_number)
{
    edit("services/webhook/queue.c", "s/0, RECOVER_QUARANTINED\\)/0, 1)/");
    edit("services/migrate/plan.c", "s/i, LIST_APPLIED_NUMBER\\)/i, 1)/");
    EXPECT("check-contract",
           "services/migrate/plan.c: reads a column by a bare number: db_admin_value(admin, i, 1)",
           "services/webhook/queue.c: reads a column by a bare number: "
           "db_value_int(rows, 0, 1)");
}

Test(check_drift, finds_other_entries_that_only_one_table_has)
{
    add_line("proto/change.def", "CHANGE(CHANGE_TEA_MAKE, \"tea.make\", \"\", \"\")");
    add_line("proto/operation.def", "OPERATION(OP_TEA_MAKE, \"tea.make\")");
    add_line("proto/headers.h", "#define HEADER_TEA \"Tea\"");
    add_line("services/audit/sql/make_tea.sql", "SELECT 1");
    EXPECT("check-contract", "services/*/main.c, changes: lacks CHANGE_TEA_MAKE",
           "proto/openapi.yaml, Operation: lacks tea.make", "proto/openapi.yaml: describes 6",
           "proto/asyncapi.yaml, headers: lacks Tea",
           "services/audit/sql/make_tea.sql: no code uses it");
}

Test(check_drift, continues_if_one_file_cannot_be_read)
{
    add_line("proto/asyncapi.yaml", "- {[");
    add_line("proto/subject.def", "COMMAND(ACCESS_ORG_SUM, \"v1.access.org-sum\", OPERATOR)");
    cr_expect_eq(check("check-contract"), 1);
    cr_expect_not_null(strstr(output, "check_asyncapi: failed"), "%s", output);
    cr_expect_not_null(strstr(output, "services/access/main.c: no handler for v1.access.org-sum"),
                       "%s", output);
}

Test(check_drift, finds_an_outdated_quotation)
{
    edit("services/access/sql/count_organizations.sql", "s/count\\(/sum(/");
    EXPECT("check-contract", "docs/first-change.md: shows what is not in "
                             "services/access/sql/count_organizations.sql");
}

Test(check_drift, names_every_place_that_a_page_needs)
{
    edit("services/dashboard/assets/js/routes.js",
         "s#^  \\{path: ./account.,.*#&\\n  {path: \"/tea\", load: () => "
         "import(\"./pages/tea.js\")},#;"
         "s#\"#\\x27#g");
    add_line("services/dashboard/assets/js/pages/tea.js",
             "import {get} from '../api.js';\nexport const tea = () => get('/data/tea');");
    add_line("services/dashboard/assets/js/pages/cup.js", "export const cup = 1;");
    add_line("services/dashboard/action.def",
             "ACTION(GET, \"/data/cups\", ACCESS_ORG_GET, MEMBER, PASS, NONE, 0, no_query)");
    edit("tests/browser/seed.mjs",
         "s#^  \\{ name: .account.,.*#&\\n  { name: \"cake\", path: \"/cake\" },#;s#\"#\\x27#g");
    edit("docs/dashboard.md", "/members-light-wide/d");
    EXPECT("check-pages", "services/dashboard/asset.c: lacks /tea of",
           "docs/dashboard.md): lacks /tea of services/dashboard/assets/js/routes.js",
           "docs/dashboard.md): has /cake, which", "nothing leads to /tea",
           "docs/screenshots (make screenshots): lacks cake-light-wide.png",
           "docs/screenshots (make screenshots): lacks cake-dark-wide.png",
           "docs/screenshots (make screenshots): lacks cake-light-phone.png",
           "docs/screenshots (make screenshots): lacks cake-dark-phone.png",
           "docs/dashboard.md: lacks cake-light-wide.png",
           "docs/dashboard.md: lacks cake-dark-wide.png",
           "docs/dashboard.md: lacks cake-light-phone.png",
           "docs/dashboard.md: lacks cake-dark-phone.png",
           "docs/dashboard.md: lacks members-light-wide.png",
           "docs/dashboard.md: lacks members-dark-wide.png",
           "docs/dashboard.md: lacks members-light-phone.png",
           "docs/dashboard.md: lacks members-dark-phone.png",
           "pages/tea.js: asks for /data/tea, which",
           "services/dashboard/action.def: /data/cups: no page asks for it",
           "pages/cup.js: nothing loads it");
}
