/*
 * deploy/kubernetes/convctl: a command's output arrives complete, and so does its exit status.
 * kubectl and convctl are scripts of this test: its kubectl runs locally what the real one would
 * run in the pod. tools/try-kubernetes does the same on a cluster.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/kubernetes-convctl.XXXXXX";

static void write_script(const char *name, const char *text)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "we");
    cr_assert(file != NULL && fprintf(file, "#!/usr/bin/env bash\n%s\n", text) > 0);
    cr_assert(fclose(file) == 0 && chmod(path, 0755) == 0);
}

/* Arguments before "--" are for kubectl; they are recorded. */
#define KUBECTL                                                                                    \
    "while [[ $1 != -- ]]; do printf '%s\\n' \"$1\" >>\"$FOLDER/asked\"; shift; done; shift;"

static void make_folder(void)
{
    char path[4096];

    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
    cr_assert(setenv("PATH", path, 1) == 0 && setenv("FOLDER", folder, 1) == 0);
    write_script("kubectl",
                 KUBECTL "\"$@\" && exit; status=$?\n"
                         "echo \"command terminated with exit code $status\" >&2; exit $status");
    write_script("convctl", "case $1 in\n"
                            "count) seq -f 'line %.0f' \"$2\" ;;\n"
                            "user) head -n 1; exit 3 ;;\n"
                            "fail) echo 'refused' >&2; exit 2 ;;\n"
                            "*) printf '<%s>\\n' \"$@\" ;;\n"
                            "esac");
}

static void remove_folder(void)
{
    cr_assert_eq(system("rm -rf \"$FOLDER\""), 0);
}

TestSuite(kubernetes_convctl, .init = make_folder, .fini = remove_folder);

/* The exit status of a command; $convctl is the script, and output goes to the file `out`. */
static int shell(const char *command)
{
    char full[1024];
    int status;

    snprintf(full, sizeof(full),
             "convctl='timeout 60 deploy/kubernetes/convctl'; { %s; } >\"$FOLDER/out\" "
             "2>\"$FOLDER/err\"",
             command);
    status = system(full);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_file(const char *name, const char *text)
{
    char path[64], found[4096] = "";
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "re");
    cr_assert_not_null(file);
    found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
    fclose(file);
    cr_expect_str_eq(found, text, "%s: %s", name, found);
}

static void expect_all_lines(const char *n)
{
    char command[256];

    snprintf(command, sizeof(command), "seq -f 'line %%.0f' %s | cmp - \"$FOLDER/out\"", n);
    cr_expect_eq(system(command), 0);
}

Test(kubernetes_convctl, passes_arguments_as_they_are)
{
    cr_assert_eq(shell("NAMESPACE=mine $convctl org create --name 'A  \"b\" $c' ''"), 0);
    expect_file("out", "<org>\n<create>\n<--name>\n<A  \"b\" $c>\n<>\n");
    expect_file("asked", "-n\nmine\nexec\n-i\nconvctl-0\n-c\nconvctl\n");
}

Test(kubernetes_convctl, ends_as_the_command_ends)
{
    cr_assert_eq(shell("$convctl fail"), 2);
    expect_file("out", "");
    expect_file("err", "refused\n");
}

Test(kubernetes_convctl, hands_a_password_over)
{
    cr_assert_eq(shell("echo 'a  password' | $convctl user create --password-stdin"), 3);
    expect_file("out", "a  password\n");
    cr_assert_eq(shell("printf 'no line feed' | $convctl user create --password-stdin"), 3);
    expect_file("out", "no line feed\n");
}

Test(kubernetes_convctl, prints_a_long_output_whole)
{
    cr_assert_eq(shell("$convctl count 200000"), 0);
    expect_all_lines("200000");
}

/* As over a slow network: output that is still in transit when the command ends is lost. */
Test(kubernetes_convctl, ends_the_command_when_all_output_has_arrived)
{
    write_script("kubectl",
                 KUBECTL "mkfifo \"$FOLDER/way\"\n"
                         "while IFS= read -r line; do echo \"$line\"; done <\"$FOLDER/way\" &\n"
                         "\"$@\" >\"$FOLDER/way\"; status=$?\n"
                         "kill -KILL $!; exit $status");
    cr_assert_eq(shell("$convctl count 20000"), 0);
    expect_all_lines("20000");
}

Test(kubernetes_convctl, fails_when_half_of_the_output_is_lost)
{
    write_script("kubectl", KUBECTL "\"$@\" | head -c 1000; exit 0");
    cr_assert_eq(shell("$convctl count 200000"), 1);
    cr_expect_eq(system("grep -q 'the output is not complete' \"$FOLDER/err\""), 0);
}

Test(kubernetes_convctl, fails_as_kubectl_does)
{
    write_script("kubectl", "echo 'no such deployment' >&2; exit 5");
    cr_assert_eq(shell("$convctl org list"), 5);
    expect_file("err", "no such deployment\n");
}

Test(kubernetes_convctl, ends_when_its_output_is_closed)
{
    cr_assert_eq(shell("$convctl count 1000000 | head -n 1"), 0);
    expect_file("out", "line 1\n");
}
