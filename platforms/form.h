/* SPDX-License-Identifier: MIT */
/*
 * form: a request with named holes where secrets and signatures go, and the request with the holes filled.
 *
 * form_render() runs the programs of a request. They see .hole.<name>: a placeholder with 128 random bits drawn for
 * this one rendering, so that no content can contain one. The results are cut at the placeholders. A form can be kept
 * and shown: it holds no secret. form_fill() puts the values in, each encoded for its place: percent-encoded in a URL
 * or form body, escaped in a JSON body, as it is elsewhere. The filled request holds secrets and is wiped when freed.
 *
 * Holes: secret, secret.<name>, session.<name>, basic (base64 of credentials user and password), client (the same
 * of client_id and client_secret, as RFC 6749, section 2.3.1, writes them), timestamp (Unix seconds of this send),
 * signature (Standard Webhooks v1 over the header webhook-id, the timestamp and the body), jwt (a token signed with
 * HS256, of this send: RFC 7519).
 *
 * URLs, header names and header values with control characters, URLs that are not http(s) and URLs with user
 * information are refused.
 */
#ifndef LANDFALL_PLATFORMS_FORM_H
#define LANDFALL_PLATFORMS_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "platforms/channel.h"
#include "platforms/descriptor.h"
#include "runtime/errbuf.h"

#define FORM_HEADERS_MAX    64
#define FORM_URL_MAX_BYTES  8192
#define FORM_BODY_MAX_BYTES ((size_t)4 << 20)

struct session;

enum form_encoding { FORM_RAW, FORM_PERCENT, FORM_JSON };

/* Text, or the name of a hole. */
struct form_segment {
    bool hole;
    enum form_encoding encoding; /* of what fills the hole */
    char *text;                  /* terminated; text may hold NUL bytes in a text body */
    size_t len;
};

struct form_text {
    struct form_segment *segments;
    size_t count;
};

struct form_header {
    char *name;
    struct form_text value;
};

struct form {
    char method[16];
    struct form_text url;
    struct form_header *headers;
    size_t header_count;
    bool has_body;
    struct form_text body;
    bool foreign; /* data named its address: foreign.h. True for what form_parse gives, until its caller knows better */
};

/* A request ready to be sent. Secrets stand in it. */
struct http_request {
    char method[16];
    char *url;
    char **headers; /* "Name: value" */
    size_t header_count;
    bool foreign; /* the form's */
    bool has_body;
    char *body; /* body_len bytes and a NUL */
    size_t body_len;
};

/* What fills the holes. Borrowed for the call. */
struct form_fill {
    const struct credentials *credentials;
    const struct session *session;       /* NULL: none */
    int64_t unix_s;                      /* for timestamp, signature and jwt */
    const struct descriptor *descriptor; /* for jwt: its audience and lifetime; NULL: no such hole */
};

/* Make a request: runs its programs over input (channel_input() and what the caller added) and adds the headers of
 * the channel's auth kind and the body's content type. *form is filled for form_fini(), on failure there is nothing to
 * free. */
MUSTCHECK bool form_render(struct channel *channel, enum descriptor_half half, const struct descriptor_request *request,
                           const json_t *input, struct form *form, struct errbuf *err);
/* The same over an input for several parts, which programs see together with .hole while it runs. */
MUSTCHECK bool form_render_over(struct channel *channel, enum descriptor_half half,
                                const struct descriptor_request *request, struct program_input *input,
                                struct form *form, struct errbuf *err);
void form_fini(struct form *form);

/* The frozen form (docs/contract.md, section 6) and back. form_parse checks everything as form_render does. */
char *form_frozen(const struct form *form, size_t *len); /* canonical bytes, for free() */
MUSTCHECK bool form_parse(const json_t *json, struct form *form, struct errbuf *err);

/* Put the values in. False if a hole has none; err names the hole. */
MUSTCHECK bool form_fill(const struct form *form, const struct form_fill *fill, struct http_request *out,
                         struct errbuf *err);

/* True if the credentials have the form that the descriptor's kind of authentication needs. What can be seen before
 * anything is sent is said before; err holds no part of them. */
MUSTCHECK bool form_check_credentials(const struct descriptor *descriptor, const struct credentials *credentials,
                                      struct errbuf *err);

/* Wipes and frees. */
void http_request_fini(struct http_request *request);

/* True if the name of a hole begins so ("session."): is a login needed before the send? */
bool form_needs(const struct form *form, const char *hole_prefix);

/* Add a header "<before><hole>" whose hole is filled as it is; before may be "". For auth.c. */
void form_add_hole_header(struct form *form, const char *name, const char *before, const char *hole);

/* Add a header or bytes of the body, as they are. */
void form_add_header(struct form *form, const char *name, const char *value);
void form_add_body(struct form *form, const void *bytes, size_t len);

/* True for what stands in a URL and in a form body as it is (RFC 3986, section 2.3). */
bool form_unreserved(char c);

/* What can be wrong with a form, wherever it came from: method, address, header names and values. */
MUSTCHECK bool form_check(const struct form *form, struct errbuf *err);

#endif
