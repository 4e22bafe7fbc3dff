"""`etude serve`: a checkpoint as a policy server."""

import os
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import tyro

from etude.cli.arguments import parse
from etude.cli.call import Call
from etude.cli.output import json_text
from etude.cli.texts import CATALOGUES
from etude.core.errors import ExitCode
from etude.serving.remote_config import API_KEY_VARIABLE
from etude.serving.serve_config import ServeConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeArguments(ServeConfig):
    """Options of `etude serve`."""

    checkpoint: tyro.conf.Positional[Path]
    json: bool = False


def serve(call: Call) -> int:
    """Serve the policy of a checkpoint until Ctrl-C."""
    arguments, _ = parse(ServeArguments, call.words, command=call.command)
    settings = {field.name: getattr(arguments, field.name) for field in fields(ServeConfig)}
    settings["api_key"] = arguments.api_key or os.environ.get(API_KEY_VARIABLE, "")
    config = ServeConfig(**settings)
    text = CATALOGUES[call.language]
    if config.is_open:
        print(text["serve_open"].format(host=config.host), file=sys.stderr)

    def ready(address: str) -> None:
        said = text["serving"].format(address=address, dialect=config.dialect)
        result = {"address": address, "dialect": config.dialect}
        print(json_text(result) if arguments.json else said, flush=True)

    from etude.runs.serving import serve as serve_here

    done = serve_here(arguments.checkpoint, config, ready=ready)
    print(
        text["served"].format(windows=done.windows, clients=done.clients, failures=done.failures),
        file=sys.stderr,
    )
    return ExitCode.DONE


SERVE_COMMANDS = {"serve": (serve, ServeArguments)}
