"""What is masked as a secret, and what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph import masking
from memorygraph.masking import SECRET_KINDS, SecretKind, mask_secrets, mask_values
from tests.examples import every_nth

REFERENCE = Path(__file__).parent.parent / "docs" / "recording.md"
LONG = "0123456789abcdefABCDEF0123456789abcdef0123456789"
# Parts are joined here, so that no scanner takes this file for a leak.
SECRETS = {
    "private key": [
        "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk, cut off",
    ],
    "JSON web token": ["eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
    "key of OpenAI or Anthropic": ["sk-" + LONG[:40], "sk-proj-" + LONG, "sk-ant-api03-" + LONG],
    "AWS access key": ["AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "IOSFODNN7EXAMPLE"],
    "GitHub token": ["ghp_" + LONG[:36], "gho_" + LONG[:36], "github_pat_" + LONG],
    "GitLab token": ["glpat-" + LONG[:20]],
    "Slack token": ["xoxb-" + LONG[:24], "xapp-" + LONG[:24]],
    "Slack webhook": ["T0001/B0001/" + LONG[:24]],
    "Discord webhook": ["123456789/" + LONG],
    "Telegram token": ["123456789:" + LONG[:35]],
    "Google key": ["AIza" + LONG[:35], "ya29." + LONG, "GOCSPX-" + LONG[:28]],
    "Stripe key": ["sk_live_" + LONG[:24], "rk_test_" + LONG[:24], "whsec_" + LONG[:32]],
    "npm token": ["npm_" + LONG[:36]],
    "PyPI token": ["pypi-AgEIcHlwaS5vcmc" + LONG],
    "Hugging Face token": ["hf_" + LONG[:34]],
    "SendGrid key": ["SG." + LONG[:22] + "." + LONG[:43]],
    "DigitalOcean token": ["dop_v1_" + "0123456789abcdef" * 4],
    "Databricks token": ["dapi" + "0123456789abcdef" * 2],
    "age key": ["AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2],
    "password in a URL": ["hunter2", "p%40ss", "p@ssw0rd9", "a@b@c#1"],
    "authorization header": ["dXNlcjpwdw==", "abc123"],
    "bearer token": [LONG[:20]],
    "cookie": ["session=abc; other=def"],
    "quoted value of a name such as password, token or api_key": [
        "correct horse",
        "p!ss 'word'",
        'an \\"escaped\\" one',
        "a last \\\\",
    ],
    "value of a variable such as DB_PASSWORD=": ["hunter2secret", "a#b~c"],
    "quoted value of a variable such as STRIPE_KEY=": ["correct horse", LONG[:24]],
    "value of a name such as password: with letters and digits": ["hunter2secret"],
    "option of a command such as --password": ["hunter-two"],
    "quoted option of a command such as --password": ["correct horse"],
    "content of an element such as password": ["correct horse", "hunter2"],
    "password after the user of curl": ["correct-horse", "p:ss#1"],
}
AROUND = {
    "Slack webhook": "https://hooks.slack.com/services/{}",
    "Discord webhook": "https://discord.com/api/webhooks/{}",
    "password in a URL": "postgres://app:{}@db.example/main",
    "authorization header": "curl -H 'Authorization: Basic {}' https://x.example",
    "bearer token": "send bearer {} with it",
    "cookie": "Cookie: {}",
    "quoted value of a name such as password, token or api_key": 'db_password = "{}"',
    "value of a variable such as DB_PASSWORD=": "export DB_PASSWORD={} && env",
    "quoted value of a variable such as STRIPE_KEY=": 'export STRIPE_KEY="{}" && env',
    "value of a name such as password: with letters and digits": "password: {}",
    "option of a command such as --password": "mysql --password={} main",
    "quoted option of a command such as --password": 'pg_dump --db-password "{}" main',
    "content of an element such as password": "<server><ns:password>{}</ns:password></server>",
    "password after the user of curl": "curl -su 'ada:{}' https://x.example",
}


@pytest.mark.parametrize(("kind", "secret"), [(kind, each) for kind, found in SECRETS.items() for each in found])
def test_a_secret_is_masked_and_what_stands_around_it_stays(kind: str, secret: str) -> None:
    text = AROUND.get(kind, "It is {} there.").replace("{}", secret)
    masked = mask_secrets(text)
    assert secret not in masked
    before, after = AROUND.get(kind, "It is {} there.").split("{}")
    assert masked.startswith(before)
    assert "[masked: " in masked
    if secret.endswith("PRIVATE KEY-----") or "PRIVATE KEY" not in secret:
        assert masked.endswith(after)


def test_each_kind_has_an_example_here_and_a_line_in_the_reference() -> None:
    names = [kind.name for kind in SECRET_KINDS]
    assert list(SECRETS) == names
    listed = re.search(r"<!-- the masked kinds -->\n(.*?)\n\n", REFERENCE.read_text("utf-8"), re.DOTALL)
    assert listed is not None
    assert [line.removeprefix("- ") for line in listed[1].splitlines()] == names


@pytest.mark.parametrize(
    "text",
    [
        "The password is asked for at the first login, and the token expires.",
        "max_tokens=500, temperature=0.3; total_tokens: 1234",
        "token = get_token(request)",
        "if not password: raise ValueError",
        "password: str | None = None",
        "see https://example.org:8080/path and git@github.com:ada/atlas.git",
        "the commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "KEYBOARD=de and KEY=$(cat key)",
        "model --max-tokens 4096 --tokens tokens.txt --password $PASSWORD",
        "uuid 2ff46cd5-f4e7-4724-bb20-579dae7956ea",
        "Authorization: is it needed? The authorization = get_authorization(request)",
        "curl -H \"Authorization: Bearer $TOKEN\" and -H 'Authorization: <your key>'",
        '{"Authorization": f"Bearer {key}"} or {"Authorization": "Bearer " + key}',
        'authorization: str | None = None; authorization = request.headers["Authorization"]',
        'if config["password"] == "plain words" or row["token"] in found: pass',
        "<password>${env.PASSWORD}</password> <tokens>one two three</tokens2>",
        "curl -u ada https://x.example:8080 | grep -u a:bcdef; curl -u ada:$PASSWORD https://x.example",
        "curl --user-agent=atlas:2.0.1 https://x.example",
        'KEYBOARD="german" and STRIPE_KEY="$(cat key)" and FLOWER_KEY="id"',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "ENCRYPTION_KEY='{}'",
        'ENCRYPTION_KEY_2 = "{}"',
        "DB_PASS='{}'",
        '{"DB_PASS": "{}"}',
        r"{\"STRIPE_KEY\":\"{}\"}",
        "STRIPE_KEY: `{}`",
    ],
)
def test_a_value_of_a_variable_is_masked_in_quotes_too(text: str) -> None:
    before, after = text.split("{}")
    masked = mask_secrets(before + "plain words" + after)
    assert masked == f"{before}[masked: quoted value of a variable such as STRIPE_KEY=]{after}"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('curl -H "Authorization: {}" https://x.example', "lin_api_" + LONG[:20]),
        ('curl -H "Authorization: {}" https://x.example', "only-letters"),
        ("Authorization: Bot {}\r\nHost: x", "MTk4NjIy" + ".Cl2FMQ." + LONG[:20]),
        ("Authorization: {}\nHost: x", LONG[:20]),
        ('{"Authorization": "ApiKey {}"}', "plain-words"),
        (r"{\"Authorization\": \"ApiKey {}\"}", "plain-words"),
        ("headers = {'Authorization': '{}'}", "plain-words"),
        ("fetch(url, {headers: {Authorization: `Bot {}`}})", "plain-words"),
        (
            "curl -H 'Authorization: AWS4-HMAC-SHA256 {}' https://x.example",
            "Credential=AKIA" + "IOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, Signature=" + LONG,
        ),
        (
            "authorization: AWS4-HMAC-SHA256 {}\nhost: x",
            "Credential=AKIA" + "IOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, Signature=" + LONG,
        ),
    ],
)
def test_an_authorization_header_is_masked_after_any_scheme_and_without_one(text: str, secret: str) -> None:
    before, after = text.split("{}")
    assert mask_secrets(before + secret + after) == f"{before}[masked: authorization header]{after}"


def test_a_secret_beside_another_is_masked_too() -> None:
    text = "Cookie: a=" + SECRETS["JSON web token"][0] + "; session=plain-words"
    assert mask_secrets(text) == "Cookie: [masked: cookie]"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (r'curl -d "{\"password\": \"hunter2hunter\"}" https://x.example', "hunter2hunter"),
        (r'sh -c "login password=\"correct horse\" now"', "correct horse"),
        (r"{\"api_key\":\"abcd1234efgh\"}", "abcd1234efgh"),
        (r"ssh host 'sh -c \"curl -d \\\"{\\\"token\\\": \\\"plain words\\\"}\\\"\"'", "plain words"),
        (r"{\"Authorization\": \"Basic dXNlcjpwdw==\"}", "dXNlcjpwdw=="),
        (r"{\"cookie\": \"session=abc\"}", "session=abc"),
        (r"{\"password\": \"it is \\\"plain\\\" words\"} \"there\"", r"it is \\\"plain\\\" words"),
        (r"password='plain\' words", "plain"),
    ],
)
def test_a_secret_between_escaped_quotes_is_masked(text: str, secret: str) -> None:
    assert secret not in mask_secrets(text)
    assert mask_secrets(text).startswith(text[: text.index(secret)] + "[masked: ")


@pytest.mark.parametrize(
    "text",
    [
        "os.environ['API_KEY'] = '{}'",
        'app.config["SECRET_KEY"] = "{}"',
        'process.env["NPM_TOKEN"]="{}";',
        r"python -c \"d[\'password\'] = \'{}\'\"",
        "os.environ['DB_PASS'] = '{}'",
        'headers["Authorization"] = "Bot {}"',
    ],
)
def test_a_secret_that_is_set_by_a_subscript_is_masked(text: str) -> None:
    before, after = text.split("{}")
    masked = mask_secrets(before + "plain-words" + after)
    assert masked.startswith(before + "[masked: ")
    assert masked.endswith("]" + after)


# Where the time grows with the square of the length, each takes from 39 s to minutes; otherwise a second.
@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "word",
    every_nth(
        [
            *("ab.", "a-", "token", "TOKEN", "token=", "token=\\", "token='\\", 'token=\\"\\\\', "cookie:", "sk-"),
            *("eyJ" + LONG[:8] + "-", "API_KEY", "--a-", "KEY='\\", 'A_KEY=\\"\\\\', "a://b:", "@", "a://b:@"),
            *("authorization:", "authorization:a", "'authorization:'", "authorization:a\t", "authorization:'a\t"),
            *("curl ", "curl -u a:", "curl -u", "<password>", "<a.password", "<password>a ", "password']"),
        ],
        3,
    ),
)
def test_a_long_text_without_spaces_is_masked_in_time(word: str) -> None:
    text = word * (200_000 // len(word))
    assert mask_secrets(text + " password: hunter2secret").endswith(
        " password: [masked: value of a name such as password: with letters and digits]"
    )


@pytest.mark.timeout(30)
def test_a_long_name_is_judged_in_time() -> None:
    assert mask_values({"token" * 40_000 + "!": "plain words"}) == {"token" * 40_000 + "!": "plain words"}


@given(st.text(alphabet="sk-AKIeyJ.:=@/\\\"'passwordtoken 0123456789abc\n", max_size=300))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


DRAWN = [kind for kind in SECRET_KINDS if not kind.pattern.pattern.startswith("--")]  # which is what these begin with


@pytest.mark.parametrize("kind", DRAWN, ids=[kind.name for kind in DRAWN])
@given(data=st.data())
def test_a_text_with_a_secret_has_a_sign_of_its_kind(kind: SecretKind, data: st.DataObject) -> None:
    found = data.draw(st.from_regex(kind.pattern))
    assert any(sign in found.casefold() for sign in kind.signs)


@pytest.mark.parametrize(
    "text",
    [
        *("pa\u017f\u017fword: hunter2hunter", "\u017fecret: hunter2hunter", "to\u212aen: hunter2hunter"),
        *("credent\u0131al: hunter2hunter", "credent\u0130al: hunter2hunter", "author\u0131zation: Basic dXNlcjpwdw=="),
        *("coo\u212a\u0131e: session=abc", "api-\u212aey: hunter2hunter"),
    ],
)
def test_a_name_in_letters_that_count_as_others_of_another_case_is_one(text: str) -> None:
    assert "[masked: " in mask_secrets(text)


PIECES = [
    *(AROUND.get(kind, "{}").replace("{}", secret) for kind, found in SECRETS.items() for secret in found),
    *("password", ": ", "=", '"', "'", "\\", "\n", " ", "--", "a1b2c3d4e5f6", "[masked: cookie]"),
]


@given(
    st.lists(st.sampled_from(PIECES).flatmap(lambda piece: st.sampled_from([piece, piece.upper(), piece.swapcase()])))
)
def test_the_signs_hide_no_secret_from_its_pattern(pieces: list[str]) -> None:
    masked = text = "".join(pieces)
    for kind in SECRET_KINDS:
        masked = kind.pattern.sub(lambda match, name=kind.name: masking._mask(match, name), masked)  # type: ignore[misc]
    assert mask_secrets(text) == masked


def test_a_text_under_the_name_of_a_secret_is_masked_at_any_depth() -> None:
    given = {"a": [{"client_secret": "x", "max_tokens": 5}], "Authorization": "y", "token": "", "b": "ok"}
    assert mask_values(given) == {
        "a": [{"client_secret": "[masked: client_secret]", "max_tokens": 5}],
        "Authorization": "[masked: Authorization]", "token": "", "b": "ok",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        *("clientSecret", "accessToken", "refreshToken", "secretAccessKey", "SECRET_KEY", "x-api-key", "password1"),
        *("STRIPE_KEY", "DB_PASS", "token_value", "Set-Cookie", "cookies", "Proxy-Authorization", "credentials"),
        *("db.password", "spring.datasource.password", "secrets"),
    ],
)
def test_a_name_of_a_secret_is_one_in_every_spelling(name: str) -> None:
    masked = f"[masked: {name}]"
    assert mask_values({name: "plain words"}) == {name: masked}
    assert mask_values({name: ["plain words", ["more"], 5]}) == {name: [masked, [masked], 5]}


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "maxTokens",
        "tokens_used",
        "usage.tokens",
        "token_count",
        "tokenizer",
        "secretary",
        "key",
        "primary_key",
        "PASS",
        "authorization_url",
        "author",
    ],
)
def test_a_name_that_is_of_no_secret_keeps_its_text(name: str) -> None:
    assert mask_values({name: "plain words"}) == {name: "plain words"}
