"""The report's words and figures, each in English and in Chinese."""

import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources

from markupsafe import Markup

from etude.core.types import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One thing said in both languages."""

    en: str
    zh: str

    def __html__(self) -> str:
        """Return both languages as HTML; the page shows one of them."""
        shown = Markup(
            '<span class="en" lang="en">{}</span><span class="zh" lang="zh-CN">{}</span>'
        )
        return str(shown.format(self.en, self.zh))

    def __add__(self, other: "Text") -> "Text":
        return Text(en=self.en + other.en, zh=self.zh + other.zh)


def text(key: str, **values: object) -> Text:
    """Return the entry `key` of texts.toml with its places filled in both languages.

    A whole number gets thousands separators; a Text gives each language its own words. The form
    `one` is used in English where `n` is 1.

    Raises:
        KeyError: texts.toml has no such entry, or the entry names a place that has no value.
    """
    entry = _catalogue()[key]
    english = entry["one"] if values.get("n") == 1 and "one" in entry else entry["en"]
    return Text(
        en=english.format_map({name: _plain(value).en for name, value in values.items()}),
        zh=entry["zh"].format_map({name: _plain(value).zh for name, value in values.items()}),
    )


def has_text(key: str) -> bool:
    """Say whether texts.toml has an entry `key`."""
    return key in _catalogue()


def percent(rate: float | None) -> Text:
    """Return a rate with one decimal, or two where one would turn it into 0 or 100 %."""
    if rate is None:
        return text("no_rate")
    shown = f"{100 * rate:.1f}"
    if (shown == "100.0" and rate < 1) or (shown == "0.0" and rate > 0):
        shown = f"{100 * rate:.2f}"
    return Text(en=f"{shown}\u00a0%", zh=f"{shown}%")


def interval(value: Interval) -> Text:
    """Return the 95 % interval alone, for example "83.9 to 100.0 %"."""
    if value.rate is None:
        return text("no_interval")
    return text("interval", low=f"{100 * value.low:.1f}", high=percent(value.high))


def counts(value: Interval) -> str:
    """Return successes and trials, for example "972/1,000"."""
    return f"{value.successes:,}/{value.trials:,}"


def duration(seconds: float) -> Text:
    """Return a time span in the two largest units that matter."""
    if seconds < 60:
        return text("seconds", s=f"{seconds:.1f}")
    minutes = round(seconds / 60)
    if minutes < 60:
        whole = int(seconds)
        return text("minutes", m=whole // 60, s=whole % 60)
    return text("hours", h=minutes // 60, m=minutes % 60)


def moment(when: str | float | None) -> Text:
    """Return a point in time with its zone; text that is no ISO date is returned as it is."""
    if when is None:
        return text("unknown")
    if isinstance(when, float | int):
        return moment(datetime.fromtimestamp(when, UTC).isoformat())
    try:
        parsed = datetime.fromisoformat(when)
    except ValueError:
        return Text(en=when, zh=when)
    shown = f"{parsed:%Y-%m-%d %H:%M} {parsed.tzname() or ''}".strip()
    return Text(en=shown, zh=shown)


def _plain(value: object) -> Text:
    if isinstance(value, Text):
        return value
    shown = f"{value:,}" if isinstance(value, int) else str(value)
    return Text(en=shown, zh=shown)


@cache
def _catalogue() -> dict[str, dict[str, str]]:
    source = resources.files("etude.observe").joinpath("texts.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))
