/*
 * phr - the functions of picohttpparser that libh2o 2.2.5 exports and calls, as its binary
 * interface has them; the development package does not install their header.
 */
#ifndef COMMON_HTTP_PHR_H
#define COMMON_HTTP_PHR_H

#include <stddef.h>
#include <sys/types.h>

struct phr_header {
    const char *name; /* NULL: the continuation of the header before */
    size_t name_len;
    const char *value;
    size_t value_len;
};

struct phr_chunked_decoder {
    size_t bytes_left_in_chunk;
    char consume_trailer;
    char _hex_count;
    char _state;
};

/* Returns the length of the request's head, -1 when it is malformed, -2 when it is incomplete.
   `n_seen` bytes were there at the call before. */
int phr_parse_request(const char *p, size_t n, const char **method, size_t *method_n,
                      const char **target, size_t *target_n, int *minor_version,
                      struct phr_header *headers, size_t *n_headers, size_t n_seen);

int phr_parse_headers(const char *p, size_t n, struct phr_header *headers, size_t *n_headers,
                      size_t n_seen);

/* Decodes in place; *n becomes the number of bytes decoded. Returns the number of bytes behind the
   body, -1 when it is malformed, -2 when it is incomplete. */
ssize_t phr_decode_chunked(struct phr_chunked_decoder *decoder, char *p, size_t *n);

#endif
