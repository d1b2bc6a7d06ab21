/* SPDX-License-Identifier: MIT */
#include "tests/bench/wire.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_SECRET_MAX 128

void wire_die(const char *words)
{
    fprintf(stderr, "bench: %s\n", words);
    exit(1);
}

void wire_signer_init(struct wire_signer *signer, const char *secret)
{
    static const char prefix[] = "whsec_";
    unsigned char key[WIRE_SECRET_MAX];
    if (strncmp(secret, prefix, sizeof prefix - 1) != 0) wire_die("the secret must begin with whsec_");
    const char *text = secret + sizeof prefix - 1;
    size_t len = strlen(text);
    if (len == 0 || len % 4 != 0 || len > WIRE_SECRET_MAX) wire_die("the secret is no base64");
    int key_len = EVP_DecodeBlock(key, (const unsigned char *)text, (int)len);
    if (key_len <= 0) wire_die("the secret is no base64");
    for (size_t i = len; i > 0 && text[i - 1] == '='; i--)
        key_len--; /* EVP_DecodeBlock counts what padding stands for */
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end()};
    if (context == NULL || !EVP_MAC_init(context, key, (size_t)key_len, parameters)) wire_die("no HMAC-SHA256 here");
    signer->mac = context;
}

void wire_signer_fini(struct wire_signer *signer)
{
    EVP_MAC_CTX_free(signer->mac);
    signer->mac = NULL;
}

void wire_sign(struct wire_signer *signer, const char *id, size_t id_len, const char *timestamp, size_t timestamp_len,
               const char *body, size_t body_len, char signature[WIRE_SIGNATURE_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    size_t digest_len = 0;
    EVP_MAC_CTX *mac = signer->mac;
    bool ok = EVP_MAC_init(mac, NULL, 0, NULL) && EVP_MAC_update(mac, (const unsigned char *)id, id_len) &&
              EVP_MAC_update(mac, (const unsigned char *)".", 1) &&
              EVP_MAC_update(mac, (const unsigned char *)timestamp, timestamp_len) &&
              EVP_MAC_update(mac, (const unsigned char *)".", 1) &&
              EVP_MAC_update(mac, (const unsigned char *)body, body_len) &&
              EVP_MAC_final(mac, digest, &digest_len, sizeof digest);
    if (!ok || digest_len != 32) wire_die("HMAC-SHA256 failed");
    memcpy(signature, "v1,", 3);
    EVP_EncodeBlock((unsigned char *)signature + 3, digest, (int)digest_len);
}
