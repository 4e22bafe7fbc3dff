"""`etude cache`: what the scan cache holds, why it missed, and looking after it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import tyro

from etude.cli.arguments import parse
from etude.cli.call import Call
from etude.cli.output import fields_text, json_text, plain
from etude.cli.texts import CATALOGUES
from etude.core.errors import ConfigError, ExitCode
from etude.store.cache_config import CacheConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheArguments:
    """Options of every `etude cache` command."""

    cache: CacheConfig = field(default_factory=CacheConfig)
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyArguments(CacheArguments):
    """Options of `etude cache why`."""

    key: tyro.conf.Positional[str] = ""
    like: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectArguments(CacheArguments):
    """Options of `etude cache gc`."""

    folders: tyro.conf.Positional[tuple[Path, ...]] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyArguments(CacheArguments):
    """Options of `etude cache export` and `etude cache import`."""

    folder: tyro.conf.Positional[Path]


def stats(call: Call) -> int:
    """Say what the cache holds."""
    arguments, _ = parse(CacheArguments, call.words, command=call.command)
    from etude.store.cache_upkeep import stats as count

    root = arguments.cache.folder
    return _show({"root": root, **count(root)}, arguments)


def why(call: Call) -> int:
    """Explain a miss by the input that differs."""
    arguments, _ = parse(WhyArguments, call.words, command=call.command)
    if bool(arguments.key) == bool(arguments.like):
        raise ConfigError(
            "`etude cache why` takes either a KEY or --like",
            hint='Name a key, or inputs such as --like \'{"weights": "..."}\'.',
        )
    from etude.store.cache_why import Explanation, explain_inputs, explain_key

    root = arguments.cache.folder
    found: Explanation = (
        explain_key(root, arguments.key)
        if arguments.key
        else explain_inputs(root, _inputs(arguments.like))
    )
    if arguments.json:
        return _show(found, arguments)
    text = CATALOGUES[call.language]
    if found.nearest is None:
        print(text["why_alone"].format(root=root))
        return ExitCode.DONE
    print(text["why_nearest"].format(key=found.nearest, equal=found.equal))
    for apart in found.differences:
        print(text["why_apart"].format(input=apart.input, wanted=apart.wanted, kept=apart.kept))
    return ExitCode.DONE


def verify(call: Call) -> int:
    """Read the whole cache and say what is wrong with it."""
    arguments, _ = parse(CacheArguments, call.words, command=call.command)
    from etude.store.cache_upkeep import verify as check

    found = check(arguments.cache.folder)
    _show(found, arguments)
    return ExitCode.DONE if found.sound else ExitCode.FINDINGS


def gc(call: Call) -> int:
    """Remove what belongs to no checkpoint of the runs that are named."""
    arguments, _ = parse(CollectArguments, call.words, command=call.command)
    if not arguments.folders:
        raise ConfigError(
            "no folder of runs is named, so every result would go",
            hint="Name the runs whose results are to stay, e.g. `etude cache gc runs`.",
        )
    from etude.store.cache_upkeep import collect, referenced_weights

    keep = referenced_weights(arguments.folders)
    done = collect(arguments.cache.folder, keep, dry_run=arguments.dry_run)
    return _show({**plain(done), "too_young": len(done.too_young)}, arguments)


def export(call: Call) -> int:
    """Copy the cache into a folder, beside what is there."""
    arguments, _ = parse(CopyArguments, call.words, command=call.command)
    from etude.store.cache_upkeep import copy_segments

    return _show(copy_segments(arguments.cache.folder, arguments.folder), arguments)


def take_in(call: Call) -> int:
    """Copy what an exported folder holds into the cache."""
    arguments, _ = parse(CopyArguments, call.words, command=call.command)
    from etude.store.cache_upkeep import copy_segments

    return _show(copy_segments(arguments.folder, arguments.cache.folder), arguments)


CACHE_COMMANDS = {
    "cache stats": (stats, CacheArguments),
    "cache why": (why, WhyArguments),
    "cache verify": (verify, CacheArguments),
    "cache gc": (gc, CollectArguments),
    "cache export": (export, CopyArguments),
    "cache import": (take_in, CopyArguments),
}


def _inputs(text: str) -> Mapping[str, object]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise ConfigError(
            f"--like is {text!r}, not JSON: {error}",
            hint='Write inputs like \'{"weights": "...", "draw.frame": 10}\'.',
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"--like is {text!r}, not a JSON object",
            hint='Write inputs like \'{"weights": "...", "draw.frame": 10}\'.',
        )
    return cast("dict[str, Any]", value)


def _show(result: object, arguments: CacheArguments) -> int:
    print(json_text(result) if arguments.json else fields_text(plain(result)))
    return ExitCode.DONE
