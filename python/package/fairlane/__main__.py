"""``python -m fairlane`` runs the program ``fairlane`` that the wheel brings, with the same arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from fairlane import _program


def main() -> int:
    """Becomes the program; on Windows, which has no such call, waits for it and returns its exit code."""
    program = _program.own()
    if program is None:
        sys.stderr.write(
            "fairlane: this package was built without its program; install a wheel, or build one: make wheel\n"
        )
        return 2
    command = [str(program), *sys.argv[1:]]
    if sys.platform != "win32":
        # Python ignores this signal, and the program would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(program, command)  # noqa: S606 - the arguments are the caller's
    # Ctrl-C reaches both processes, and the program decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.run(command, check=False).returncode  # noqa: S603 - the arguments are the caller's


if __name__ == "__main__":
    sys.exit(main())
