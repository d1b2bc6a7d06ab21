/* SPDX-License-Identifier: MIT */
#include "platforms/hmac.h"

#include <openssl/evp.h>

#include "runtime/die.h"

static EVP_MAC_CTX *context_of(struct hmac *hmac)
{
    return (EVP_MAC_CTX *)hmac;
}

static void must(int done)
{
    if (done != 1) die("libcrypto cannot compute HMAC-SHA256");
}

/* Without a key; made once, since to find an algorithm by its name costs more than to use it. */
static EVP_MAC_CTX *blank(void)
{
    static EVP_MAC_CTX *context;
    if (context) return context;
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0), OSSL_PARAM_construct_end()};
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    context = algorithm ? EVP_MAC_CTX_new(algorithm) : NULL;
    EVP_MAC_free(algorithm);
    must(context != NULL && EVP_MAC_CTX_set_params(context, parameters));
    return context;
}

struct hmac *hmac_new(const unsigned char *key, size_t key_len)
{
    EVP_MAC_CTX *context = EVP_MAC_CTX_dup(blank());
    must(context != NULL && EVP_MAC_init(context, key, key_len, NULL));
    return (struct hmac *)context;
}

void hmac_free(struct hmac **hmac)
{
    if (*hmac) EVP_MAC_CTX_free(context_of(*hmac)); /* wipes what it made of the key */
    *hmac = NULL;
}

void hmac_begin(struct hmac *hmac)
{
    must(EVP_MAC_init(context_of(hmac), NULL, 0, NULL)); /* with the key that it has */
}

void hmac_add(struct hmac *hmac, const void *bytes, size_t len)
{
    must(EVP_MAC_update(context_of(hmac), bytes, len));
}

void hmac_end(struct hmac *hmac, unsigned char mac[HMAC_BYTES])
{
    size_t len = 0;
    must(EVP_MAC_final(context_of(hmac), mac, &len, HMAC_BYTES) && len == HMAC_BYTES);
}
