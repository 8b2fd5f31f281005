"""Secrets in texts: what is recognized as one, and the text without it.

A pattern that is too wide hides a word; one that is too narrow keeps a key. So each is as wide as its form allows.
What repeats is bounded where it may begin at many places of one long word: the time grows as the text does.
docs/recording.md lists them all, and a test holds it to them: so they are one table, and not those of a scanner.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class SecretKind(NamedTuple):
    """A kind of secrets: its name, and the pattern whose group `secret`, or else the whole match, is one.

    A text with such a secret has one of the signs in it, in any case. To look for these is much quicker.
    """

    name: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


_NAMED = (
    "(?=[apcst])"  # what each begins with: without it, masking an ordinary text takes half as long again
    "(?:password|passwd|passphrase|pwd|secret|token|credential"
    "|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|auth[_-]?key)"
)
# A pattern of any case takes a Turkish `i` for an `i`, and folding a text does not: so none of its signs has one.
_NAMED_SIGNS = "pass pwd secret token credent key"
_ESCAPES = r"\\{0,15}"  # before a quote within quotes, as of a JSON text in a command: one, and more at each level
# What ends a name before its value is said: a quote as of a JSON key, and a bracket as of `config["password"] = "…"`.
_NAME_END = rf"{_ESCAPES}[\"']\]?"
# It ends at the first such quote that is not escaped itself, or at the first where a backslash means nothing.
_QUOTED = (
    r"(?P<quote>(?P<escaped>\\{1,15})?[\"'`])"
    r"(?P<secret>[^\r\n]{4,}?(?<!\\)(?(escaped)(?:\\{4})*|(?:\\\\)*)(?=(?P=quote))|[^\r\n]{4,}?)(?P=quote)"
)
# What an authorization header says after its scheme: all that is between quotes. Elsewhere a header may be a word of a
# sentence or a line of code: then what follows a scheme that everybody knows, or else begins with letters and digits.
_CREDENTIALS = r"[^\s\"'`$({<\\][^\r\n\"'`\\]{5,}"
_BARE_CREDENTIALS = (
    r"(?(scheme)[\w.~+/=-]{6,}"
    r"|(?=[^\s\"'`(]{0,256}(?:\d|\[masked:))(?=[^\s\"'`(]{0,256}[a-z])[^\s\"'`(){}<>,;]{8}[^\r\n\"'`\\]*)"
)

SECRET_KINDS = tuple(
    SecretKind(name, tuple(signs.casefold().split()), re.compile(pattern, flags))
    for name, signs, pattern, flags in (
        (
            "private key",
            "-----BEGIN",
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:.*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|.*)",
            re.DOTALL,
        ),
        ("JSON web token", "eyJ", r"\beyJ[\w-]{8,4096}\.[\w-]{8,}(?:\.[\w-]*)?", 0),
        ("key of OpenAI or Anthropic", "sk-", r"\bsk-[\w-]{16,}", 0),
        ("AWS access key", "AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", 0),
        ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,})", 0),
        (
            "GitLab token",
            "glpat- gldt- glrt- glcbt- glptt- glsoat- glagent-",
            r"\bgl(?:pat|dt|rt|cbt|ptt|soat|agent)-[\w-]{16,}",
            0,
        ),
        ("Slack token", "xox xapp-", r"\bx(?:ox[a-z]|app)-[\w-]{10,}", 0),
        (
            "Slack webhook",
            "hooks.slack.com",
            r"https://hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]+)",
            0,
        ),
        (
            "Discord webhook",
            "/api/webhooks/",
            r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/(?P<secret>[\w/-]+)",
            0,
        ),
        ("Telegram token", ":", r"\b\d{8,10}:[\w-]{35}\b", 0),
        ("Google key", "AIza ya29. GOCSPX-", r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{20,})", 0),
        ("Stripe key", "k_live_ k_test_ whsec_", r"\b(?:[prs]k_(?:live|test)_\w{10,}|whsec_[\w+/=]{16,})", 0),
        ("npm token", "npm_", r"\bnpm_\w{30,}", 0),
        ("PyPI token", "pypi-", r"\bpypi-[\w-]{32,}", 0),
        ("Hugging Face token", "hf_", r"\bhf_\w{30,}", 0),
        ("SendGrid key", "SG.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}", 0),
        ("DigitalOcean token", "_v1_", r"\bdo[opr]_v1_[0-9a-f]{32,}", 0),
        ("Databricks token", "dapi", r"\bdapi[0-9a-f]{32}\b", 0),
        ("age key", "AGE-SECRET-KEY-1", r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}", 0),
        ("password in a URL", "://", r"(?<=[a-z0-9+.-])://[^\s/@:\"']*:(?P<secret>[^\s/\"']+)@", re.IGNORECASE),
        (
            "authorization header",
            "author",
            rf"(?P<around>[\"'`])?\b(?:authorization|proxy-authorization)(?P<name>{_NAME_END})?\s*[:=]\s*(?P<value>{_ESCAPES}[\"'`])?"
            rf"(?:(?P<scheme>bearer|basic|token)\s+|[a-z][\w-]*[ \t]+|(?![a-z][\w-]*\s))"
            rf"(?P<secret>(?(value){_CREDENTIALS}|(?(name){_BARE_CREDENTIALS}|(?(around){_CREDENTIALS}|{_BARE_CREDENTIALS}))))",
            re.IGNORECASE,
        ),
        ("bearer token", "bearer", r"\bbearer\s+(?P<secret>[\w.~+/=-]{16,})", re.IGNORECASE),
        (
            "cookie",
            "cook",
            rf"\b(?:set-)?cookie(?:{_ESCAPES}[\"'])?\s*:\s*(?:{_ESCAPES}[\"'])?(?P<secret>[^\s=;\"']{{1,256}}=[^\r\n\"']+)",
            re.IGNORECASE,
        ),
        (
            "quoted value of a name such as password, token or api_key",
            _NAMED_SIGNS,
            rf"{_NAMED}\w{{0,64}}(?:{_NAME_END})?\s*(?:[:=]|=>|:=)\s*{_QUOTED}",
            re.IGNORECASE,
        ),
        (
            "value of a variable such as DB_PASSWORD=",
            _NAMED_SIGNS,
            r"\b(?=[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|PWD|SECRET|TOKEN|CREDENTIAL|KEY|PASS))[A-Z0-9_]*=(?P<secret>[^\s\"'`$({<][^\s\"'`]{3,})",
            0,
        ),
        (
            "quoted value of a variable such as STRIPE_KEY=",
            "key pass",
            rf"\b(?=[A-Z0-9_]*(?:KEY|PASS)(?![A-Z]))[A-Z0-9_]*(?:{_NAME_END})?\s*(?:[:=]|=>|:=)\s*(?!{_ESCAPES}[\"'`](?:\$[A-Z_({{]|[<{{])){_QUOTED}",
            0,
        ),
        (
            "value of a name such as password: with letters and digits",
            _NAMED_SIGNS,
            rf"{_NAMED}\w{{0,64}}\s*[:=]\s*(?P<secret>(?=[^\s\"'`(]{{0,256}}\d)(?=[^\s\"'`(]{{0,256}}[A-Za-z])[^\s\"'`(){{}}<>,;]{{8,}})",
            re.IGNORECASE,
        ),
        (
            "option of a command such as --password",
            "--",
            rf"--(?:\w{{1,32}}-){{0,4}}(?!tokens\b){_NAMED}\w*[ =](?P<secret>[^\s\"'`$-][^\s\"'`]{{3,}})",
            re.IGNORECASE,
        ),
        (
            "quoted option of a command such as --password",
            "--",
            rf"--(?:\w{{1,32}}-){{0,4}}(?!tokens\b){_NAMED}\w* {_QUOTED}",
            re.IGNORECASE,
        ),
        (
            "content of an element such as password",
            _NAMED_SIGNS,
            rf"<(?P<element>[\w.:-]{{0,64}}?{_NAMED}[\w-]{{0,64}})>\s*(?P<secret>[^\s<$][^\r\n<]{{3,}}?)\s*</(?P=element)>",
            re.IGNORECASE,
        ),
        (
            "password after the user of curl",
            "curl",
            r"\bcurl\b[^\r\n|;&]{0,400}?\s(?:-[a-zA-Z]{0,8}[uU] ?|--(?:proxy-)?user[ =])"
            r"[\"']?[^\s:\"'$]{1,128}:(?P<secret>[^\s\"'$][^\s\"']{3,})",
            0,
        ),
    )
)
"""Every kind of secret that is masked, the surest first."""


def mask_secrets(text: str) -> str:
    """Return a text with a mark in the place of each secret; what was masked before stays as it is.

    >>> mask_secrets("Use postgres://app:hunter2@db/x with sk-0123456789abcdef0123.")
    'Use postgres://app:[masked: password in a URL]@db/x with [masked: key of OpenAI or Anthropic].'
    """
    folded = text.casefold()
    for kind in SECRET_KINDS:
        if any(sign in folded for sign in kind.signs):
            text = kind.pattern.sub(lambda match, name=kind.name: _mask(match, name), text)  # type: ignore[misc]
    return text


def _mask(match: re.Match[str], name: str) -> str:
    whole = match[0]
    if "secret" not in match.re.groupindex:
        return f"[masked: {name}]"
    if match["secret"].startswith("[masked:"):
        return whole
    start, end = (place - match.start() for place in match.span("secret"))
    return f"{whole[:start]}[masked: {name}]{whole[end:]}"


def mask_values(value: Any) -> Any:
    """Return a copy of a JSON value whose texts are masked; those under a name such as `password` as a whole.

    >>> mask_values({"password": "x", "api_keys": ["y"], "say": ["hi"]})
    {'password': '[masked: password]', 'api_keys': ['[masked: api_keys]'], 'say': ['hi']}
    """
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, list):
        return [mask_values(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _mask_named(key, item) if names_secret(key) else mask_values(item) for key, item in value.items()}


def _mask_named(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_mask_named(name, item) for item in value]
    return f"[masked: {name}]" if isinstance(value, str) and value else mask_values(value)


_NO_SECRETS = r"[\w.-]*(?:token(?:s|i[sz]e|_?count)|secretar)"  # counts, the parts of words, and a person
_SECRET_NAME = re.compile(
    rf"(?!{_NO_SECRETS})(?=[\w.-]*{_NAMED})[\w.-]*|[\w.-]*(?:authorization|cookies?)|(?-i:[A-Z0-9_]+_(?:KEY|PASS))",
    re.IGNORECASE,
)


def names_secret(key: str) -> bool:
    """Tell whether a name says that its value is a secret.

    >>> names_secret("db_password"), names_secret("clientSecret"), names_secret("STRIPE_KEY")
    (True, True, True)
    >>> names_secret("max_tokens"), names_secret("primary_key")
    (False, False)
    """
    return _SECRET_NAME.fullmatch(key) is not None
