#include "common/bus/creds.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ascii.h"
#include "common/base/base64url.h"
#include "common/base/clock.h"

enum { FILE_MAX = 32 * 1024, SEED_TEXT = 58 };

/* A file's text and what is in it, until it is forgotten. */
struct file {
    char text[FILE_MAX];
    struct creds creds;
};

/* -- the text ---------------------------------------------------------------------------------- */

/* What is in the line below the header; empty: nothing. */
static struct str line_below(struct str text, struct str header)
{
    const char *const at = memmem(text.p, text.n, header.p, header.n);
    struct str rest = at != NULL ? str_skip(text, (size_t)(at - text.p)) : STR("");
    struct str line;

    (void)str_cut(&rest, '\n');
    line = str_trim_ows(str_cut(&rest, '\n'));
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

/* Three parts in base64url: nats.c writes it into JSON as it is. */
static bool is_jwt(struct str text)
{
    int n_dots = 0;

    for (size_t i = 0; i < text.n; i++) {
        n_dots += text.p[i] == '.';
        if (!ascii_is_alphanumeric(text.p[i]) && text.p[i] != '.' && text.p[i] != '-' &&
            text.p[i] != '_')
            return false;
    }
    return n_dots == 2;
}

/* nats.c checks the rest of it, but not its length. */
static bool is_seed_of_user(struct str text)
{
    return text.n == SEED_TEXT && str_starts(text, STR("SU"));
}

const char *creds_parse(struct str text, struct creds *out)
{
    out->jwt = line_below(text, STR("-----BEGIN NATS USER JWT-----"));
    out->seed = line_below(text, STR("-----BEGIN USER NKEY SEED-----"));
    if (!is_jwt(out->jwt))
        return "has no JWT below a line -----BEGIN NATS USER JWT-----";
    if (!is_seed_of_user(out->seed))
        return "has no seed of a user below a line -----BEGIN USER NKEY SEED-----";
    return NULL;
}

/* -- the file ---------------------------------------------------------------------------------- */

static const char *load(const char *path, struct file *out)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out->text, FILE_MAX);

    if (fd >= 0)
        close(fd);
    return n < 0 ? "cannot be read" : creds_parse((struct str){out->text, (size_t)n}, &out->creds);
}

static void forget(struct file *file)
{
    explicit_bzero(file, sizeof(*file));
}

/* `out` is from malloc(). */
static natsStatus sign(struct str seed, const char *challenge, unsigned char **out, int *n)
{
    char copy[SEED_TEXT + 1] = "";
    natsStatus s;

    memcpy(copy, seed.p, SEED_TEXT);
    s = nats_Sign(copy, challenge, out, n);
    explicit_bzero(copy, sizeof(copy));
    return s;
}

/* -- callbacks of nats.c, while it makes the connection -------------------------------------------- */

static natsStatus on_jwt_wanted(char **jwt, char **error, void *closure)
{
    struct file file;
    const char *const wrong = load(closure, &file);

    if (wrong == NULL)
        *jwt = strndup(file.creds.jwt.p, file.creds.jwt.n);
    else
        *error = strdup(wrong);
    forget(&file);
    return wrong == NULL ? NATS_OK : NATS_ERR;
}

/* Without a challenge, the server needs no signature, and gets one of something. */
static natsStatus on_challenge(char **error, unsigned char **signature, int *n,
                               const char *challenge, void *closure)
{
    const bool is_given = challenge != NULL && challenge[0] != '\0';
    struct file file;
    const char *const wrong = load(closure, &file);
    natsStatus s = NATS_ERR;

    if (wrong == NULL)
        s = sign(file.creds.seed, is_given ? challenge : "none", signature, n);
    else
        *error = strdup(wrong);
    forget(&file);
    return s;
}

const char *creds_set(natsOptions *options, const char *path)
{
    struct file file;
    const char *wrong = load(path, &file);
    unsigned char *signature = NULL;
    int n;

    if (wrong == NULL && sign(file.creds.seed, "test", &signature, &n) != NATS_OK)
        wrong = "has a seed that was changed: its checksum is wrong";
    forget(&file);
    free(signature);
    if (wrong == NULL &&
        natsOptions_SetUserCredentialsCallbacks(options, on_jwt_wanted, (void *)path, on_challenge,
                                                (void *)path) != NATS_OK)
        wrong = "cannot be used";
    return wrong;
}

/* -- refusals ------------------------------------------------------------------------------------ */

/* By its member `exp`, in seconds: Go writes JSON without blanks, and quotes in a text as \". */
static bool has_expired(struct str jwt)
{
    static const char member[] = "\"exp\":";
    char claims[FILE_MAX];
    struct str rest = jwt, digits;
    uint64_t until_s = 0;
    size_t n = 0;
    const char *at;

    (void)str_cut(&rest, '.');
    if (!base64url_read(str_cut(&rest, '.'), (uint8_t *)claims, &n))
        return false;
    at = memmem(claims, n, member, strlen(member));
    if (at == NULL)
        return false;
    at += strlen(member);
    digits = (struct str){at, 0};
    while (at + digits.n < claims + n && ascii_is_digit(at[digits.n]))
        digits.n++;
    return str_to_u64(digits, INT64_MAX / 1000000, &until_s) &&
           (int64_t)until_s * 1000000 <= clock_us();
}

const char *creds_refusal(const char *path)
{
    struct file file;
    const bool is_old = load(path, &file) == NULL && has_expired(file.creds.jwt);

    forget(&file);
    return is_old ? "the JWT in NATS_CREDS_FILE has expired"
                  : "NATS_CREDS_FILE is refused: its account or signer is not known to the server, "
                    "its user was revoked, or its seed is of another user";
}
