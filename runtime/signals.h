/* SPDX-License-Identifier: MIT */
/*
 * signals: TERM, INT and HUP as a descriptor that the loop waits for.
 *
 * signals_open() is called before anything that could start a thread or a request; from then on the three signals are
 * blocked and only read, and SIGPIPE is ignored. Nothing runs in a signal handler. Two of the same signal that arrive
 * before a read are one (the kernel merges them); after a read the next one is an event of its own, so the caller that
 * sees SIGNALS_STOP twice stops at once.
 */
#ifndef RUNTIME_SIGNALS_H
#define RUNTIME_SIGNALS_H

enum signals_event {
    SIGNALS_NONE,   /* nothing (more) to read */
    SIGNALS_STOP,   /* TERM or INT */
    SIGNALS_RELOAD, /* HUP */
};

/* The descriptor (non-blocking, close-on-exec), for poll. Ends the process if the kernel refuses. */
int signals_open(void);

/* The next event; call it until SIGNALS_NONE. */
enum signals_event signals_read(int fd);

void signals_close(int fd);

#endif
