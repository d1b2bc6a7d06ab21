/* SPDX-License-Identifier: MIT */
/* Descriptors as files: whatever stands there, it is taken or refused with words. Programs are not compiled. */
#include "platforms/descriptor.h"

#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    struct descriptor *descriptor = NULL;
    struct errbuf err = {{0}};
    if (descriptor_load(fuzz_file(input->at, input->left), &descriptor, &err)) {
        for (size_t i = 0; descriptor_credential(descriptor, i); i++)
            REQUIRE(i < 100);
        descriptor_free(&descriptor);
    } else {
        REQUIRE(err.text[0] != '\0');
    }
}
