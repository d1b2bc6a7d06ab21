/* SPDX-License-Identifier: MIT */
/* Lines of spool files. */
#include "ledger/spool_line.h"

#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    struct spool_line line;
    struct errbuf err = {{0}};
    if (!spool_line_read(input->at, input->left, &line, &err)) {
        REQUIRE(err.text[0] != '\0');
        return;
    }
    REQUIRE(line.kind != SPOOL_LINE_REPORT || (line.report.delivery && line.report.ext_id && line.report.detail));
    spool_line_fini(&line);
}
