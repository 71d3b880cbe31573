# SPDX-License-Identifier: BSD-3-Clause
"""Messages as values: a sentence with the parameters, files and numbers that stand in it.

    Message("{epsilon} has no effect beside {gap}")
    Message("solver '{}' trains two classes; use {solver=}", name, ("smo", "sbp"))

The printer of a message words its parameters: Python says `parameter 'gap'` and `solver='smo'`, the
command line `--gap` and `--solver smo`, the originals' names `-e`, estimators `tol`. Everything
else in a message, above all a path, is printed as it is, except that passwords and keys in URLs are
hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from svmcut.base.patterns import pattern
from svmcut.base.typing import Any, NamedTuple

_BARE = pattern(r"True|False|[-+]?\d[\d.]*(e[-+]?\d+)?")
#: Characters that a shell interprets or splits words at.
_SHELL_SPECIAL = pattern(r"""[\s'"$&|;<>()*?#~`\\]""")
#: Marks that a shell word may contain in addition to letters and digits.
_REMOVE_MARKS = dict.fromkeys(map(ord, "./_-"))
#: Characters that move the cursor, colour the terminal, end the line or change its direction.
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
_CONTROLS, _CONTROLS_IN_LINES = pattern(_CONTROL), pattern(f"(?![\t\n]){_CONTROL}")

#: Secrets of URLs: a password within the authority, one with slashes, a key in the place of a user,
#: and a query, which may be signed. The line and column of a message may follow, and punctuation.
_PASSWORD = pattern(r"""(?<=://)([^\s/:@'"]*):[^\s/'"]*@""")
_LONG_PASSWORD = pattern(r"""(?<=://)([^\s/:@'"]*):(?!\d*(?:[/?#\s]|$)|\*\*\*@)[^\s'"]*@""")
_KEY = pattern(r"""\b((?i:https?|ftps?)://)(?!\*\*\*@)[^\s/:@'"]+@""")
_QUERY = pattern(
    r"""(\b(?i:https?)://[^\s?'"]*(?=\?)|://[^\s?'"]*(?=\?[\w.-]+=))[^\s'"]*?"""
    r"""(?=(?::\d+)*[.,;:)\]]*(?:[\s'"]|$))"""
)


def hide_secrets(text: str) -> str:
    """Replace passwords and keys in the URLs of a text by ``***`` and drop the queries."""
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


def escape(text: Any, lines: bool = False) -> str:
    """Replace control characters by escapes such as \\x1b; with `lines`, newlines and tabs stay."""
    text = str(text)
    if (text.replace("\n", "").replace("\t", "") if lines else text).isprintable():
        return text
    controls = _CONTROLS_IN_LINES if lines else _CONTROLS
    return controls.sub(lambda match: ascii(match[0])[1:-1], text)


class Parameter(NamedTuple):
    """A parameter in a message, or its setting to a value."""

    #: A name of svmcut.spec.parameters.
    name: str
    #: None for the parameter itself; a tuple or list for several values to choose from.
    value: Any = None

    def texts(self, quoted: bool) -> str:
        """Return the value, or the values to choose from.

        Words are quoted if `quoted` is true, other values if a shell needs quotes.
        """
        values = self.value if isinstance(self.value, tuple | list) else (self.value,)
        return join_names([_format_value(value, quoted) for value in values], "or")


class NameGroup:
    """Names that form one value of a parameter: ``['a', 'b']`` in Python, ``a,b`` in a shell."""

    def __init__(self, names: Any):
        self.names = [*names]


Wording = Callable[[Parameter], str]


def word_for_python(parameter: Parameter) -> str:
    """Return the Python wording: ``parameter 'gap'``, ``solver='smo'``."""
    name, value = parameter
    return f"parameter '{name}'" if value is None else f"{name}={parameter.texts(True)}"


class Message(str):
    """A sentence for a user; as a str it has the wording of Python.

    The template is one of str.format with three more fields: ``{gap}`` is the parameter of that
    name, ``{solver=}`` its setting to the next value, ``{solver=smo}`` and ``{solver=smo|sbp}`` its
    setting to these values. `values` fill ``{}``: parameters, messages, errors of svmcut, or plain
    values, whose control characters are escaped. Raises ValueError for an invalid template, or for
    too many or too few values.
    """

    template: str
    values: tuple[Any, ...]

    def __new__(cls, template: str, *values: Any) -> Message:
        worded = "".join(_word_pieces(template, values, word_for_python))
        message = super().__new__(cls, hide_secrets(worded))
        message.template, message.values = template, values
        return message

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.template, *self.values

    def word(self, wording: Wording) -> str:
        """Return the sentence with its parameters in this wording."""
        return hide_secrets("".join(_word_pieces(self.template, self.values, wording)))


def word_message(message: str, wording: Wording) -> str:
    """Return a message in this wording; a plain str has no parameters."""
    return message.word(wording) if isinstance(message, Message) else message


def join_names(names: Any, last: str = "and") -> str:
    """Join names as in a sentence: a, b and c; no names give an empty text."""
    *rest, end = names or [""]
    return f"{', '.join(rest)} {last} {end}" if rest else end


def _word_pieces(template: str, values: tuple[Any, ...], wording: Wording) -> Iterator[str]:
    """Yield the pieces of a sentence."""
    rest, parts = iter(values), template.replace("{{", "\0").split("{")
    yield _unescape_braces(parts[0], template)
    for part in parts[1:]:
        field, closed, text = part.partition("}")
        name, given, choice = field.partition("=")
        if not closed:
            raise _bad_template(template, values)
        if name.isidentifier() and (name[0].islower() or name[0] == "_"):
            value = tuple(choice.split("|")) if choice else None
            yield wording(
                Parameter(name, _next_value(rest, template) if given and not choice else value)
            )
        else:
            value = _next_value(rest, template)
            if isinstance(value, Parameter):
                yield wording(value)
            else:
                value = getattr(value, "sentence", value)
                filled = f"{{{field}}}".format(
                    word_message(value, wording) if isinstance(value, str) else value
                )
                yield filled if isinstance(value, Message) else escape(filled)
        yield _unescape_braces(text, template)
    if [*rest]:
        raise _bad_template(template, values)


def _unescape_braces(text: str, template: str) -> str:
    """Return a piece without fields."""
    if "}" in text.replace("}}", ""):
        raise _bad_template(template, ())
    return text.replace("\0", "{").replace("}}", "}")


def _bad_template(template: str, values: tuple[Any, ...]) -> ValueError:
    return ValueError(f"{template!r} is no template of {len(values)} values")


def _next_value(rest: Iterator[Any], template: str) -> Any:
    for value in rest:
        return value
    raise ValueError(f"{template!r} is a template of more values")


def _format_value(value: Any, quoted: bool) -> str:
    if isinstance(value, NameGroup):
        return str(value.names) if quoted else quote_word(",".join(value.names))
    if isinstance(value, str) and not quoted:
        return value if _is_bare(value) or not _SHELL_SPECIAL.search(value) else quote_word(value)
    if isinstance(value, str):
        return value if not value[:1].islower() and _BARE.fullmatch(value) else f"'{value}'"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_bare(text: str) -> bool:
    """Test that a shell word has only letters, digits and marks."""
    return text.isascii() and text.translate(_REMOVE_MARKS).isalnum()


def quote_word(text: str) -> str:
    """Quote a text as one word of a shell."""
    if _is_bare(text):
        return text
    import shlex

    return shlex.quote(text)
