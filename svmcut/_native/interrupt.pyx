# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end long C calls: Python runs its handlers between bytecodes only, and such a call
is one of them.

While signals are watched, SIGINT and SIGTERM set a flag before they go to the handler that was
there. The C call returns at its next look at the flag, and Python's handler runs at once. Handlers
run in the main thread, and so the flag is of its calls alone: what other threads do goes on, unless
the main thread ends them all.
"""

from cpython.exc cimport PyErr_CheckSignals

import contextlib
import threading

cdef extern from *:
    """
    static volatile int svmcut_signalled = 0, svmcut_ended = 0, svmcut_watching = 0;
    #include <pthread.h>
    #include <signal.h>
    static pthread_t svmcut_main;
    static const int* svmcut_flag(void) {
        int own = svmcut_watching && pthread_equal(pthread_self(), svmcut_main);
        return (const int*)(own ? &svmcut_signalled : &svmcut_ended);
    }
    static const int svmcut_numbers[2] = {SIGINT, SIGTERM};
    static struct sigaction svmcut_before[2];
    static void svmcut_note(int number) {
        svmcut_signalled = 1;
        svmcut_before[number == SIGTERM].sa_handler(number);
    }
    static void svmcut_watch(void) {
        svmcut_main = pthread_self();
        svmcut_watching = 1;
        for (int k = 0; k < 2; ++k) {
            struct sigaction* before = &svmcut_before[k];
            sigaction(svmcut_numbers[k], NULL, before);
            if ((before->sa_flags & SA_SIGINFO) || before->sa_handler == SIG_DFL ||
            before->sa_handler == SIG_IGN)
                continue;
            struct sigaction note = *before;
            note.sa_handler = svmcut_note;
            sigaction(svmcut_numbers[k], &note, NULL);
        }
    }
    static void svmcut_unwatch(void) {
        svmcut_watching = 0;
        for (int k = 0; k < 2; ++k) {
            struct sigaction now;
            sigaction(svmcut_numbers[k], NULL, &now);
            if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == svmcut_note)
                sigaction(svmcut_numbers[k], &svmcut_before[k], NULL);
        }
    }
    """
    int svmcut_signalled, svmcut_ended
    const int* svmcut_flag()
    void svmcut_watch()
    void svmcut_unwatch()


cdef int watching = 0
cdef bint ending = False


class Cancelled(BaseException):
    """Raised in threads that the main thread ends, where they are; no failure, hence no
    Exception."""


cdef const int* cancel_flag() noexcept:
    """What C functions take as `cancel`: of the thread that watches signals theirs, of others that
    of `cancelled`."""
    return svmcut_flag()


cdef int serve() except -1:
    """After a C call that was cancelled: raises what the signal's handler raises; 0 where it raises
    nothing."""
    global svmcut_signalled
    if ending:
        raise Cancelled
    svmcut_signalled = 0
    return PyErr_CheckSignals()


@contextlib.contextmanager
def watched_signals():
    """Within it SIGINT and SIGTERM end long C calls, where Python handles these signals: in the
    main thread."""
    global svmcut_signalled, watching
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if watching == 0:
        svmcut_signalled = 0
        svmcut_watch()
    watching += 1
    try:
        yield
    finally:
        watching -= 1
        if watching == 0:
            svmcut_unwatch()
            svmcut_signalled = 0


@contextlib.contextmanager
def cancelled():
    """Within it long C calls of all threads end, and raise Cancelled."""
    global svmcut_signalled, svmcut_ended, ending
    ending = True
    svmcut_signalled = svmcut_ended = 1
    try:
        yield
    finally:
        ending = False
        svmcut_signalled = svmcut_ended = 0
