# SPDX-License-Identifier: BSD-3-Clause
"""What ends long C calls: signals, and crews of threads that stop.

Python runs handlers of signals between bytecodes only, and a long C call is one of them. While
signals are watched, SIGINT and SIGTERM set a flag before they go to the handler that was there. The
C call returns at its next look at the flag, and Python's handler runs at once. Handlers run in the
main thread, and so this flag is of its calls alone.

A deadline sets it too, once, and is raised where a handler would run.

A thread that joined an Ending looks at the flag of that, which no other fit shares.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.signal cimport SIGINT

import _thread
import contextlib
import sys

cdef extern from *:
    """
    static volatile int svmcut_signalled = 0, svmcut_watching = 0, svmcut_late = 0;
    static const int svmcut_never = 0;
    static __thread const int* svmcut_ending = &svmcut_never;
    #include <pthread.h>
    #include <signal.h>
    static pthread_t svmcut_main;
    static const int* svmcut_flag(void) {
        int own = svmcut_watching && pthread_equal(pthread_self(), svmcut_main);
        return own ? (const int*)&svmcut_signalled : svmcut_ending;
    }
    static int svmcut_is_ended(void) { return *(const volatile int*)svmcut_ending; }
    static void svmcut_join(const int* flag) { svmcut_ending = flag ? flag : &svmcut_never; }
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
    int svmcut_signalled, svmcut_late
    const int* svmcut_flag()
    bint svmcut_is_ended()
    void svmcut_join(const int* flag)
    void svmcut_watch()
    void svmcut_unwatch()


cdef int watching = 0
cdef object waiting = None


class Cancelled(BaseException):
    """Raised in threads of an Ending that is over, where they are; no failure, hence no
    Exception."""


cdef class Ending:
    """Ends the long C calls of the threads that joined it, which then raise Cancelled."""

    cdef int flag

    def end(self):
        """From now on."""
        self.flag = 1

    @contextlib.contextmanager
    def joined(self):
        """Within it the C calls of this thread end with the others."""
        svmcut_join(&self.flag)
        try:
            yield
        finally:
            svmcut_join(NULL)


class DeadlinePassed(KeyboardInterrupt):
    """Raised by a long C call that a deadline ended. A KeyboardInterrupt, as a solver is to do the
    same: look at what it has and hand it out."""


cdef const int* cancel_flag() noexcept:
    """What C functions take as `cancel`: of the thread that watches signals theirs, of others that
    of the Ending they joined."""
    return svmcut_flag()


cdef int serve() except -1:
    """After a C call that was cancelled: raises what the signal's handler raises, or that a
    deadline has passed; 0 where neither is so."""
    global svmcut_signalled, svmcut_late
    if svmcut_is_ended():
        raise Cancelled
    svmcut_signalled = 0
    try:
        PyErr_CheckSignals()
    except KeyboardInterrupt:
        if not svmcut_late:
            raise
    if svmcut_late:
        svmcut_late = 0
        waiting.passed = True
        raise DeadlinePassed
    return 0


cdef bint in_main_thread():
    threading = sys.modules.get("threading")  # which starts all others
    return threading is None or threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def watched_signals():
    """Within it SIGINT and SIGTERM end long C calls, where Python handles these signals: in the
    main thread."""
    global svmcut_signalled, watching
    if not in_main_thread():
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


def _pass(now):
    global svmcut_signalled, svmcut_late
    svmcut_late = svmcut_signalled = 1
    _end_python(now)


def _end_python(now):
    """For Python between C calls, and those that look at no flag."""
    import signal

    usual = signal.getsignal(SIGINT) is signal.default_int_handler
    if usual and now.ends_python and not now.raised:
        now.raised = True
        _thread.interrupt_main()


class Deadline:
    """passed: whether something was ended by it; ends_python: whether it ends Python code too, with
    a KeyboardInterrupt, as Ctrl-C does, at once where the time is over; for the program to set
    where that does no harm."""

    passed = raised = _ends_python = False

    @property
    def ends_python(self):
        return self._ends_python

    @ends_python.setter
    def ends_python(self, value):
        self._ends_python = value
        if value and svmcut_late and waiting is self:
            _end_python(self)


def _settle(timer, now):
    """Ends the timer, and takes back a KeyboardInterrupt of it that came too late to end
    anything."""
    while timer is not None:
        try:
            timer.cancel()
            timer.join()
            PyErr_CheckSignals()
            timer = None
        except KeyboardInterrupt:
            if not now.raised:
                raise
            now.raised = False


@contextlib.contextmanager
def deadline(seconds):
    """Within it, after so many seconds, a long C call of the main thread ends and raises
    DeadlinePassed, once; None for never. Yields a Deadline.

    To be entered where signals are watched."""
    global svmcut_signalled, svmcut_late, waiting
    now = Deadline()
    if seconds is None or not in_main_thread():
        yield now
        return
    svmcut_late, waiting = 0, now
    import threading

    timer = threading.Timer(min(max(0.0, seconds), threading.TIMEOUT_MAX), _pass, (now,))
    timer.daemon = True
    timer.start()
    try:
        yield now
    except KeyboardInterrupt:
        now.passed |= now.raised
        raise
    finally:
        now.ends_python = False
        _settle(timer, now)
        waiting = None
        if svmcut_late:  # in time, but for what needed no C call
            svmcut_late = svmcut_signalled = 0
