#include "common/http/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <h2o.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/watchdog.h"
#include "common/crypto/certificates.h"
#include "common/http/bound_socket.h"
#include "common/http/event_loop.h"
#include "common/http/framing.h"
#include "common/http/status_counts.h"
#include "common/http/timer.h"
#include "common/json/json.h"

enum {
    BACKLOG = 64,
    CONNECTIONS_MAX = 64,
    REQUEST_TIMEOUT_MS = 5000,
    REST_MS = 100, /* how long to pause when descriptors run out */
    BODY_MAX = 1024,
    ANSWER_MAX = 4 * 1024 * 1024,
    REASON_MAX = 128,
};

/* Closed after one answer. */
struct connection {
    struct admin *admin;
    struct list link;
    h2o_socket_t *sock;
};

struct admin {
    struct admin_options options;
    pthread_t thread;
    int stop_fd;

    /* The rest is the thread's. */
    h2o_globalconf_t config;
    h2o_context_t context;
    h2o_accept_ctx_t accept;
    h2o_socket_t *listener;
    h2o_socket_t *stop_socket;
    struct timers timers;
    struct timer rest_timer;
    bool stopping;
    bool said_dead; /* in the log */
    struct list connections;
    size_t n_connections;
};

struct handler {
    h2o_handler_t super; /* must be first: h2o casts to it */
    struct admin *admin;
};

/* -- answers ----------------------------------------------------------------------------------- */

static void answer(h2o_req_t *req, int status, const char *type, struct str body)
{
    req->res.status = status;
    req->res.reason = reason_of(status);
    req->res.content_length = body.n;
    req->http1_is_persistent = 0;
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, type, strlen(type));
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CACHE_CONTROL, NULL,
                   H2O_STRLIT("no-store"));
    h2o_send_inline(req, body.p, body.n);
}

static void answer_status(h2o_req_t *req, bool is_well, char reason[REASON_MAX], struct buf *body)
{
    if (is_well) {
        answer(req, 200, "application/json", STR("{\"status\":\"ok\"}"));
        return;
    }
    reason[REASON_MAX - 1] = '\0';
    buf_add(body, STR("{\"status\":\"unavailable\",\"reason\":"));
    json_add_string(body, str_of(reason));
    buf_char(body, '}');
    answer(req, 503, "application/json", buf_str(body));
}

static void answer_liveness(struct admin *admin, h2o_req_t *req, struct buf *body)
{
    char reason[REASON_MAX] = "";
    bool is_live = watchdog_overdue(WATCHDOG_LIVE_US, reason) == 0;

    if (!is_live && !admin->said_dead)
        LOG(LOG_ERROR, "no longer live", log_str("reason", reason));
    admin->said_dead = !is_live;
    answer_status(req, is_live, reason, body);
}

/* `is_so` is is_ready() or serves(). */
static void answer_readiness(struct admin *admin, bool (*is_so)(void *closure, char reason[128]),
                             h2o_req_t *req, struct buf *body)
{
    char reason[REASON_MAX] = "";
    bool is_well =
        watchdog_overdue(WATCHDOG_READY_US, reason) == 0 && is_so(admin->options.closure, reason);

    answer_status(req, is_well, reason, body);
}

static void answer_metrics(h2o_req_t *req, struct buf *body)
{
    certificates_read();
    metrics_render(body);
    answer(req, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(body));
}

static int on_request(h2o_handler_t *self, h2o_req_t *req)
{
    struct admin *admin = ((struct handler *)self)->admin;
    enum framing_fault fault = framing_take();
    struct str path = {req->path.base, req->query_at == SIZE_MAX ? req->path.len : req->query_at};
    bool is_get = h2o_memis(req->method.base, req->method.len, H2O_STRLIT("GET"));
    struct arena arena;
    struct buf body;

    arena_init(&arena, ANSWER_MAX);
    buf_init(&body, &arena, 0);
    if (fault != FRAMING_SOUND)
        answer(req, framing_status(fault), "application/json", STR("{\"status\":\"bad request\"}"));
    else if (is_get && str_equal(path, STR("/livez")))
        answer_liveness(admin, req, &body);
    else if (is_get && str_equal(path, STR("/readyz")))
        answer_readiness(admin, admin->options.is_ready, req, &body);
    else if (is_get && str_equal(path, STR("/servez")))
        answer_readiness(admin, admin->options.serves, req, &body);
    else if (is_get && str_equal(path, STR("/metrics")))
        answer_metrics(req, &body);
    else
        answer(req, 404, "application/json", STR("{\"status\":\"not found\"}"));
    arena_release(&arena);
    return 0;
}

/* -- connections ------------------------------------------------------------------------------- */

static void on_acceptable(h2o_socket_t *listener, const char *error);

/* Continues accepting, unless it is full, stopping or pausing. */
static void resume(struct admin *admin)
{
    if (admin->n_connections < CONNECTIONS_MAX && !admin->stopping &&
        !timer_is_running(&admin->rest_timer))
        h2o_socket_read_start(admin->listener, on_acceptable);
}

static void on_rested(struct timer *timer)
{
    resume(H2O_STRUCT_FROM_MEMBER(struct admin, rest_timer, timer));
}

/* Without free descriptors the listener stays readable, which must not keep the loop busy. */
static void rest(struct admin *admin)
{
    h2o_socket_read_stop(admin->listener);
    timer_start(&admin->timers, &admin->rest_timer, REST_MS, on_rested);
}

static void on_connection_closed(void *data)
{
    struct connection *connection = data;
    struct admin *admin = connection->admin;

    list_remove(&connection->link);
    free(connection);
    if (admin->n_connections-- == CONNECTIONS_MAX)
        resume(admin);
}

static void on_acceptable(h2o_socket_t *listener, const char *error)
{
    struct admin *admin = listener->data;
    h2o_socket_t *sock;

    if (error != NULL)
        return;
    errno = 0;
    sock = h2o_evloop_socket_accept(listener);
    if (sock == NULL) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            rest(admin);
        return;
    }
    struct connection *connection = heap_zeroed(1, sizeof(*connection));
    *connection = (struct connection){.admin = admin, .sock = sock};
    list_add(&admin->connections, &connection->link);
    sock->on_close.cb = on_connection_closed;
    sock->on_close.data = connection;
    if (++admin->n_connections == CONNECTIONS_MAX)
        h2o_socket_read_stop(listener);
    h2o_accept(&admin->accept, sock);
}

/* -- the thread -------------------------------------------------------------------------------- */

static void on_stop(h2o_socket_t *sock, const char *error)
{
    struct admin *admin = sock->data;
    struct connection *connection;

    admin->stopping = true;
    h2o_socket_read_stop(sock);
    h2o_socket_read_stop(admin->listener);
    timer_stop(&admin->rest_timer);
    /* h2o closes each connection when it reads the end. */
    LIST_EACH(connection, &admin->connections, link)
        shutdown(h2o_socket_get_fd(connection->sock), SHUT_RDWR);
}

static void close_down(struct admin *admin)
{
    h2o_loop_t *loop = admin->context.loop;
    h2o_multithread_queue_t *queue = admin->context.queue;

    h2o_socket_close(admin->listener);
    h2o_socket_close(admin->stop_socket);
    timers_release(&admin->timers);
    h2o_context_dispose(&admin->context);
    free(queue); /* h2o 2.2.5 does not free it */
    h2o_config_dispose(&admin->config);
    h2o_evloop_destroy(loop);
}

static void *run(void *arg)
{
    struct admin *admin = arg;
    while (!admin->stopping || !list_is_empty(&admin->connections))
        (void)h2o_evloop_run(admin->context.loop, INT32_MAX);
    close_down(admin);
    event_loop_end_thread();
    return NULL;
}

static h2o_socket_t *watch(struct admin *admin, int fd, h2o_socket_cb on_readable)
{
    h2o_socket_t *sock =
        h2o_evloop_socket_create(admin->context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    sock->data = admin;
    h2o_socket_read_start(sock, on_readable);
    return sock;
}

static void set_up(struct admin *admin, int listen_fd)
{
    h2o_config_init(&admin->config);
    admin->config.server_name = (h2o_iovec_t){NULL, 0};
    admin->config.max_request_entity_size = BODY_MAX;
    admin->config.http1.req_timeout = REQUEST_TIMEOUT_MS;
    admin->config.http1.upgrade_to_http2 = 0;
    h2o_hostconf_t *host =
        h2o_config_register_host(&admin->config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_pathconf_t *path = h2o_config_register_path(host, "/", 0);
    struct handler *handler = (struct handler *)h2o_create_handler(path, sizeof(*handler));
    handler->super.on_req = on_request;
    handler->admin = admin;

    list_init(&admin->connections);
    h2o_context_init(&admin->context, event_loop_create(), &admin->config);
    timers_init(&admin->timers, admin->context.loop);
    admin->accept = (h2o_accept_ctx_t){.ctx = &admin->context, .hosts = admin->config.hosts};
    admin->listener = watch(admin, listen_fd, on_acceptable);
    /* h2o closes the descriptor that it watches; the original stays open until the thread is
       joined. */
    int stop_fd = fcntl(admin->stop_fd, F_DUPFD_CLOEXEC, 0);
    must(stop_fd >= 0);
    admin->stop_socket = watch(admin, stop_fd, on_stop);
}

static int listen_on(const char *address, uint16_t port)
{
    const int fd = bound_socket(address, port, false);
    int error;

    if (fd < 0 || listen(fd, BACKLOG) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Blocks all signals on this thread, which leaves them to the others. */
static void start_thread(struct admin *admin)
{
    sigset_t all, before;
    sigfillset(&all);
    must(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    must(pthread_create(&admin->thread, NULL, run, admin) == 0);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}

enum status admin_start(const struct admin_options *options, struct admin **out)
{
    *out = NULL;
    if (options->port == 0)
        return ST_OK;
    int fd = listen_on(options->address, options->port);
    if (fd < 0) {
        LOG(LOG_ERROR, "admin listener cannot listen", log_str("address", options->address),
            log_int("port", options->port), log_str("error", strerror(errno)));
        return ST_UNAVAILABLE;
    }
    struct admin *admin = heap_zeroed(1, sizeof(*admin));
    admin->options = *options;
    if (options->serves == NULL)
        admin->options.serves = options->is_ready;
    admin->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    must(admin->stop_fd >= 0);
    set_up(admin, fd);
    start_thread(admin);
    *out = admin;
    return ST_OK;
}

void admin_stop(struct admin *admin)
{
    if (admin == NULL)
        return;
    must(eventfd_write(admin->stop_fd, 1) == 0);
    pthread_join(admin->thread, NULL);
    close(admin->stop_fd);
    free(admin);
}
