"""Settings of all tests."""

import signal

# A background job of a shell ignores SIGINT, and its children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
