/* SPDX-License-Identifier: MIT */
#include "ledger/link_tls.h"

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

bool link_tls_is_built_in(void)
{
    return true;
}

static bool given(const char *file)
{
    return file && file[0] != '\0';
}

/* OpenSSL's own reason, which names no secret; the queue of errors is emptied. */
static const char *reason(void)
{
    unsigned long code = ERR_get_error();
    const char *words = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return words ? words : "no reason given";
}

static bool load_files(SSL_CTX *tls, const struct link_tls_files *files, struct errbuf *err)
{
    if (given(files->ca_file) && SSL_CTX_load_verify_locations(tls, files->ca_file, NULL) != 1)
        return errbuf_set(err, "redis.ca_file %s: %s", files->ca_file, reason());
    if (!given(files->ca_file) && SSL_CTX_set_default_verify_paths(tls) != 1)
        return errbuf_set(err, "redis: the system's trusted certificates: %s", reason());
    if (!given(files->cert_file)) return true;
    if (SSL_CTX_use_certificate_chain_file(tls, files->cert_file) != 1)
        return errbuf_set(err, "redis.cert_file %s: %s", files->cert_file, reason());
    const char *key_file = given(files->key_file) ? files->key_file : files->cert_file;
    if (SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(tls) != 1)
        return errbuf_set(err, "redis.key_file %s: %s", key_file, reason());
    return true;
}

/* The chain alone would let any holder of a certificate be our Redis; hiredis by itself checks no name. */
static bool expect_name(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *wanted = SSL_get0_param(ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host) == 1) return true;
    ERR_clear_error();
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static bool shake_hands(redisContext *context, SSL *ssl, const char *host, struct errbuf *err)
{
    if (!expect_name(ssl, host)) return errbuf_set(err, "redis: %s is no name for TLS: %s", host, reason());
    if (redisInitiateSSL(context, ssl) == REDIS_OK) return true;
    long verdict = SSL_get_verify_result(ssl);
    ERR_clear_error();
    if (verdict != X509_V_OK)
        return errbuf_set(err, "redis: the certificate of %s is not believed: %s; see redis.ca_file", host,
                          X509_verify_cert_error_string(verdict));
    return errbuf_set(err, "redis: TLS with %s: %s", host,
                      context->errstr[0] ? context->errstr : "the handshake was not finished in time");
}

bool link_tls_start(struct redisContext *context, const struct link_tls_files *files, const char *host,
                    struct errbuf *err)
{
    SSL *ssl = NULL;
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    bool done = tls && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1;
    if (!done) errbuf_set(err, "redis: TLS cannot be set up: %s", reason());
    if (done) {
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
        done = load_files(tls, files, err);
    }
    if (done) {
        ssl = SSL_new(tls);
        done = ssl ? shake_hands(context, ssl, host, err) : errbuf_set(err, "redis: TLS: %s", reason());
    }
    if (!done) SSL_free(ssl); /* else it belongs to the connection now */
    SSL_CTX_free(tls);
    return done;
}
