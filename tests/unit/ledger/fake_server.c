/* SPDX-License-Identifier: MIT */
#include "fake_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORD_BYTES 64

static bool read_line(FILE *in, char *line, size_t size)
{
    return fgets(line, (int)size, in) != NULL;
}

/* Reads one command and keeps its first two words. */
static bool read_command(FILE *in, char words[2][WORD_BYTES])
{
    char line[WORD_BYTES];
    if (!read_line(in, line, sizeof line) || line[0] != '*') return false;
    int count = (int)strtol(line + 1, NULL, 10);
    words[0][0] = words[1][0] = '\0';
    for (int i = 0; i < count; i++) {
        if (!read_line(in, line, sizeof line) || line[0] != '$') return false;
        long len = strtol(line + 1, NULL, 10);
        for (long at = 0; at < len + 2; at++) {
            int c = fgetc(in);
            if (c == EOF) return false;
            if (i < 2 && at < len && at < WORD_BYTES - 1) {
                words[i][at] = (char)c;
                words[i][at + 1] = '\0';
            }
        }
    }
    return true;
}

static const char *handshake(const struct fake_server *server, char words[2][WORD_BYTES], char *text, size_t size)
{
    if (strcmp(words[0], "AUTH") == 0)
        return server->password && strcmp(words[1], server->password) == 0 ? "+OK\r\n" : "-WRONGPASS no, not that\r\n";
    if (strcmp(words[0], "CLIENT") == 0 || strcmp(words[0], "SELECT") == 0) return "+OK\r\n";
    if (strcmp(words[0], "TIME") == 0) return "*2\r\n$10\r\n1795990610\r\n$6\r\n859000\r\n";
    if (strcmp(words[0], "INFO") == 0) return "$21\r\nrun_id:0123456789ab\r\n\r\n";
    if (strcmp(words[0], "ROLE") != 0) return NULL;
    const char *role = server->role ? server->role : "master";
    snprintf(text, size, "*1\r\n$%zu\r\n%s\r\n", strlen(role), role);
    return text;
}

static void say(int fd, const char *line)
{
    const char *mark = strstr(line, "{now}");
    char text[4096];
    if (mark)
        snprintf(text, sizeof text, "%.*s$13\r\n1795990610859\r\n%s", (int)(mark - line), line, mark + 5);
    else
        snprintf(text, sizeof text, "%s", line);
    for (size_t done = 0, len = strlen(text); done < len;) {
        ssize_t n = write(fd, text + done, len - done);
        if (n <= 0) return;
        done += (size_t)n;
    }
}

static void serve(const struct fake_server *server, int fd, const char *const *lines)
{
    FILE *in = fdopen(dup(fd), "rb");
    char words[2][WORD_BYTES], text[128];
    while (in && read_command(in, words)) {
        const char *answer = handshake(server, words, text, sizeof text);
        if (!answer) answer = *lines ? *lines++ : "close";
        if (strcmp(answer, "close") == 0) break;
        if (strcmp(answer, "hang") != 0) say(fd, answer);
        while (strcmp(answer, "hang") == 0 && fgetc(in) != EOF) /* until the client has gone */
            ;
    }
    if (in) fclose(in);
}

void fake_server_start(struct fake_server *server, const char *const *lines)
{
    snprintf(server->dir, sizeof server->dir, "/tmp/landfall-fake-XXXXXX");
    if (!mkdtemp(server->dir)) abort();
    snprintf(server->path, sizeof server->path, "%s/redis.sock", server->dir);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server->path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0) abort();
    server->pid = fork();
    if (server->pid < 0) abort();
    if (server->pid > 0) {
        close(listener);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) _exit(1);
        serve(server, fd, lines);
        close(fd);
    }
}

void fake_server_stop(struct fake_server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    unlink(server->path);
    rmdir(server->dir);
}
