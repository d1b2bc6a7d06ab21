/* SPDX-License-Identifier: MIT */
#include "platforms/request_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/random.h"

#define HEAD_MAX_BYTES ((size_t)64 << 10) /* of a part's head, and of a field */

void request_files_fini(struct request_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->file[i].step);
        free(files->file[i].bytes);
    }
    free(files->file);
    memset(files, 0, sizeof(*files));
}

static struct request_file *find(const struct request_files *files, const char *step, size_t at)
{
    for (size_t i = 0; i < files->count; i++)
        if (files->file[i].at == at && strcmp(files->file[i].step, step) == 0) return &files->file[i];
    return NULL;
}

void request_files_keep(struct request_files *files, const char *step, size_t at, const struct answer *answer)
{
    struct request_file *file = find(files, step, at);
    if (!file) {
        files->file = xrealloc_array(files->file, files->count + 1, sizeof(*files->file));
        file = &files->file[files->count++];
        *file = (struct request_file){.step = xstrdup(step), .at = at};
    }
    free(file->bytes);
    file->bytes = xstrndup(answer->body.data, answer->body.len);
    file->len = answer->body.len;
}

/* What may stand between quotes in the head of a part, or be a content type. */
static bool is_plain(const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\' || *text == 0x7f) return false;
    return text != NULL;
}

static bool add_field(struct form *form, const char *boundary, const char *name, const json_t *value)
{
    struct buf head;
    if (!json_is_string(value) || !is_plain(name)) return false;
    buf_init(&head, HEAD_MAX_BYTES);
    buf_append_format(&head, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n", boundary, name);
    form_add_body(form, buf_text(&head), head.len);
    buf_fini(&head);
    form_add_body(form, json_string_value(value), json_string_length(value));
    form_add_body(form, "\r\n", 2);
    return true;
}

static bool add_multipart(struct form *form, const json_t *what, const char *type, const struct request_file *file)
{
    char boundary[RANDOM_TOKEN_SIZE], text[RANDOM_TOKEN_SIZE + 64];
    const char *name = json_string_value(json_object_get(what, "name"));
    const char *filename = json_string_value(json_object_get(what, "filename")), *field;
    json_t *value;
    struct buf head;
    if (!is_plain(name) || !is_plain(filename)) return false;
    random_token(boundary);
    json_object_foreach(json_object_get(what, "fields"), field, value)
    {
        if (!json_is_null(value) && !add_field(form, boundary, field, value)) return false;
    }
    buf_init(&head, HEAD_MAX_BYTES);
    buf_append_format(
        &head, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
        boundary, name, filename, type);
    form_add_body(form, buf_text(&head), head.len);
    buf_fini(&head);
    form_add_body(form, file->bytes, file->len);
    snprintf(text, sizeof(text), "\r\n--%s--\r\n", boundary);
    form_add_body(form, text, strlen(text));
    snprintf(text, sizeof(text), "multipart/form-data; boundary=%s", boundary);
    form_add_header(form, "Content-Type", text);
    return true;
}

bool request_file_body(struct channel *channel, const char *part, struct program_input *input, size_t at,
                       const struct request_files *files, struct form *form, struct errbuf *err)
{
    json_t *what;
    if (!descriptor_run_over(channel->descriptor, DESCRIPTOR_WRITE, part, input, &what, err)) return false;
    const char *from = json_string_value(json_object_get(what, "from"));
    const char *type = json_string_value(json_object_get(what, "type"));
    const struct request_file *file = from ? find(files, from, at) : NULL;
    bool ok = true;
    if (!file || !is_plain(type)) {
        ok = errbuf_set(err, "%s: $.%s: must give {from: a step that kept bytes, type}", channel->descriptor->file,
                        part);
    } else if (!json_object_get(what, "name")) {
        form_add_body(form, file->bytes, file->len);
        form_add_header(form, "Content-Type", type);
    } else if (!add_multipart(form, what, type, file)) {
        ok = errbuf_set(err, "%s: $.%s: name, filename and fields must be strings without quotes and line ends",
                        channel->descriptor->file, part);
    }
    json_decref(what);
    return ok;
}
