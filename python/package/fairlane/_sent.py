"""Classes and functions of the caller that are sent to the workers of an executor, and their identity in files."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import pickle
from typing import TYPE_CHECKING, Any

from fairlane.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["identity_of", "loaded", "packed"]


def packed(key: str, made: Callable[..., object]) -> bytes:
    """The bytes from which a worker gets ``made``: its module and name, or with cloudpickle its code if need be.

    Raises:
        ArgumentError: It has no module that workers can import, and there is no cloudpickle; or it cannot be sent.
    """
    try:
        import cloudpickle
    except ImportError:
        with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
            sent = pickle.dumps(made)
            # The program itself is another one on a worker.
            if b"__main__" not in sent:
                return sent
        raise ArgumentError(
            f"{key}: workers cannot import {_name(made)}: put it at the top of a module that they have, or install"
            " cloudpickle (pip install cloudpickle), which sends its code"
        ) from None
    try:
        return bytes(cloudpickle.dumps(made))
    except (pickle.PicklingError, TypeError) as error:
        raise ArgumentError(f"{key}: {_name(made)} cannot be sent to a worker: {error}") from error


def loaded(sent: bytes | Callable[..., object]) -> Callable[..., Any]:
    """Returns the class or function from the bytes of :func:`packed`, or as it is if it was not packed.

    Raises:
        ImportError: This worker lacks its module, or the module lacks it.
    """
    if not isinstance(sent, bytes):
        return sent
    try:
        made: Callable[..., Any] = pickle.loads(sent)  # noqa: S301 - the caller of the sweep sent it
    except AttributeError as error:
        raise ImportError(str(error)) from error
    return made


def identity_of(made: object) -> str:
    """The identity of a class or a function in a file: its module and name, its source, and what it has bound.

    The source of other classes that it uses does not count.
    """
    if isinstance(made, functools.partial):
        return f"{identity_of(made.func)} {made.args!r} {made.keywords!r}"
    code = made if inspect.isclass(made) or inspect.isroutine(made) else type(made)
    bound = [] if code is made else [vars(made)]
    bound += [cell.cell_contents for cell in getattr(made, "__closure__", None) or ()]
    source = ""
    with contextlib.suppress(OSError, TypeError):
        source = hashlib.sha256(inspect.getsource(code).encode()).hexdigest()
    return f"{code.__module__}:{code.__qualname__} {source} {bound!r}"


def _name(made: object) -> str:
    if isinstance(made, functools.partial):
        return _name(made.func)
    return getattr(made, "__qualname__", None) or type(made).__qualname__
