/* SPDX-License-Identifier: MIT */
/* Configurations as files, with their channels; credentials are not read. */
#include "runtime/config.h"

#include <string.h>

#include "platforms/fleet.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    struct config *config = NULL;
    struct fleet fleet;
    struct errbuf err = {{0}};
    const char *path = fuzz_file(input->at, input->left);
    /* Other folders than these are none of this test's business. */
    if (memmem(input->at, input->left, "descriptors", 11) || memmem(input->at, input->left, "_file", 5)) return;
    if (!config_load(path, &config, &err)) {
        REQUIRE(err.text[0] != '\0');
        return;
    }
    if (fleet_load_bare(config, &fleet, &err)) fleet_fini(&fleet);
    config_free(&config);
}
