# SPDX-License-Identifier: BSD-3-Clause
"""Messages as values: a sentence, and the parameters, files and numbers that stand in it.

    Message("{epsilon} has no effect beside {gap}")
    Message("solver '{}' trains two classes; use {solver=}", name, ("smo", "sbp"))

Who prints a message words its parameters: Python says `parameter 'gap'` and `solver='smo'`, the
command line `--gap` and `--solver smo`, the originals' names `-e`, estimators `tol`. What else
stands in it, a path above all, is not read, but for the secrets of URLs, which no message shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut.base.patterns import pattern
from svmcut.base.typing import Any, NamedTuple

_BARE = pattern(r"True|False|[-+]?\d[\d.]*(e[-+]?\d+)?")
#: What a shell would not leave as it is, or split at.
_OF_SHELLS = pattern(r"""[\s'"$&|;<>()*?#~`\\]""")
#: What a word of a shell may have beside letters and digits.
_WITHOUT_MARKS = dict.fromkeys(map(ord, "./_-"))
#: What would move the cursor, colour the terminal, end the line or turn its direction round.
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
_CONTROLS, _CONTROLS_IN_LINES = pattern(_CONTROL), pattern(f"(?![\t\n]){_CONTROL}")

#: Of URLs: a password within the authority, one with slashes, a key in the place of a user, and a
#: query, which may be signed; in front of the line and column of a message and signs of its end.
_PASSWORD = pattern(r"""(?<=://)([^\s/:@'"]*):[^\s/'"]*@""")
_LONG_PASSWORD = pattern(r"""(?<=://)([^\s/:@'"]*):(?!\d*(?:[/?#\s]|$)|\*\*\*@)[^\s'"]*@""")
_KEY = pattern(r"""\b((?i:https?|ftps?)://)(?!\*\*\*@)[^\s/:@'"]+@""")
_QUERY = pattern(
    r"""(\b(?i:https?)://[^\s?'"]*(?=\?)|://[^\s?'"]*(?=\?[\w.-]+=))[^\s'"]*?"""
    r"""(?=(?::\d+)*[.,;:)\]]*(?:[\s'"]|$))"""
)


def without_secrets(text: str) -> str:
    """A text whose URLs have ``user:***@`` in the place of passwords, and no queries."""
    if "://" not in text:
        return text
    for secret, shown in (
        (_PASSWORD, r"\1:***@"),
        (_LONG_PASSWORD, r"\1:***@"),
        (_KEY, r"\1***@"),
        (_QUERY, r"\1"),
    ):
        text = secret.sub(shown, text)
    return text


def printable(text: Any, lines: bool = False) -> str:
    """A text with escapes such as \\x1b in the place of control characters; with `lines` newlines
    and tabs stay."""
    text = str(text)
    if (text.replace("\n", "").replace("\t", "") if lines else text).isprintable():
        return text
    controls = _CONTROLS_IN_LINES if lines else _CONTROLS
    return controls.sub(lambda match: ascii(match[0])[1:-1], text)


class Parameter(NamedTuple):
    """A parameter in a message, or its setting to a value.

    Attributes
    ----------
    name : str
        Of svmcut.spec.parameters.
    value : object
        None for the parameter as such; a tuple or list for several values of which one may be
        chosen.
    """

    name: str
    value: Any = None

    def texts(self, quoted: bool) -> str:
        """The value, or the values to choose from; in quotes where it is a word and `quoted`, or
        where a shell needs them."""
        values = self.value if isinstance(self.value, tuple | list) else (self.value,)
        return join_names([_text(value, quoted) for value in values], "or")


class Together:
    """Names that are one value of a parameter: ``['a', 'b']`` in Python, ``a,b`` in a shell."""

    def __init__(self, names: Any):
        self.names = [*names]


Words = Callable[[Parameter], str]


def in_python(parameter: Parameter) -> str:
    """As Python has it: ``parameter 'gap'``, ``solver='smo'``."""
    name, value = parameter
    return f"parameter '{name}'" if value is None else f"{name}={parameter.texts(True)}"


class Message(str):
    """A sentence for a user; as a str it is that of Python.

    Parameters
    ----------
    template : str
        As str.format takes it, with three more fields: ``{gap}`` is the parameter of that name,
        ``{solver=}`` its setting to the next value, ``{solver=smo}`` and ``{solver=smo|sbp}`` to
        these.
    *values
        What fills ``{}``: parameters, messages, errors of svmcut, or plain values, which stay as
        they are but for control characters.

    Raises
    ------
    ValueError
        For a template that is none, or values that are too many or too few.
    """

    template: str
    values: tuple[Any, ...]

    def __new__(cls, template: str, *values: Any) -> Message:
        worded = "".join(_worded(template, values, in_python))
        message = super().__new__(cls, without_secrets(worded))
        message.template, message.values = template, values
        return message

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.template, *self.values

    def worded(self, words: Words) -> str:
        """The sentence with its parameters in these words."""
        return without_secrets("".join(_worded(self.template, self.values, words)))


def word_message(message: str, words: Words) -> str:
    """A message in these words; a plain str has no parameters."""
    return message.worded(words) if isinstance(message, Message) else message


def join_names(names: Any, last: str = "and") -> str:
    """Names in a sentence: a, b and c; nothing of none."""
    *rest, end = names or [""]
    return f"{', '.join(rest)} {last} {end}" if rest else end


def _worded(template: str, values: tuple[Any, ...], words: Words) -> Iterator[str]:
    """The pieces of a sentence."""
    rest, parts = iter(values), template.replace("{{", "\0").split("{")
    yield _plain(parts[0], template)
    for part in parts[1:]:
        field, closed, text = part.partition("}")
        name, given, choice = field.partition("=")
        if not closed:
            raise _no_template(template, values)
        if name.isidentifier() and (name[0].islower() or name[0] == "_"):
            value = tuple(choice.split("|")) if choice else None
            yield words(Parameter(name, _next(rest, template) if given and not choice else value))
        else:
            value = _next(rest, template)
            if isinstance(value, Parameter):
                yield words(value)
            else:
                value = getattr(value, "sentence", value)
                filled = f"{{{field}}}".format(
                    word_message(value, words) if isinstance(value, str) else value
                )
                yield filled if isinstance(value, Message) else printable(filled)
        yield _plain(text, template)
    if [*rest]:
        raise _no_template(template, values)


def _plain(text: str, template: str) -> str:
    """A piece without fields."""
    if "}" in text.replace("}}", ""):
        raise _no_template(template, ())
    return text.replace("\0", "{").replace("}}", "}")


def _no_template(template: str, values: tuple[Any, ...]) -> ValueError:
    return ValueError(f"{template!r} is no template of {len(values)} values")


def _next(rest: Iterator[Any], template: str) -> Any:
    for value in rest:
        return value
    raise ValueError(f"{template!r} is a template of more values")


def _text(value: Any, quoted: bool) -> str:
    if isinstance(value, Together):
        return str(value.names) if quoted else as_word(",".join(value.names))
    if isinstance(value, str) and not quoted:
        return value if _is_bare(value) or not _OF_SHELLS.search(value) else as_word(value)
    if isinstance(value, str):
        return value if not value[:1].islower() and _BARE.fullmatch(value) else f"'{value}'"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_bare(text: str) -> bool:
    """Whether a word of a shell has letters, digits and marks alone."""
    return text.isascii() and text.translate(_WITHOUT_MARKS).isalnum()


def as_word(text: str) -> str:
    """As one word of a shell."""
    if _is_bare(text):
        return text
    import shlex

    return shlex.quote(text)
