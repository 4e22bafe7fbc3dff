"""What the program says, in English and in Chinese. Imports next to nothing: help is instant."""

from collections.abc import Mapping

from etude.cli.texts_chinese import CHINESE
from etude.cli.texts_english import ENGLISH

LANGUAGES = ("en", "zh")

COMMANDS: Mapping[str, str] = {
    "run": "[RECIPE] [settings]",
    "demos": "[RECIPE] [settings]",
    "train": "[RECIPE] [settings]",
    "eval": "[RECIPE] [settings]",
    "report": "RUN_FOLDER",
    "config show": "[RECIPE] [settings]",
    "scan tasks": "[RECIPE] [settings]",
    "scan samples": "[RECIPE] [settings]",
    "scan compare": "A B",
    "tasks show": "[RUN]",
    "tasks export": "RUN FILE",
    "tasks diff": "OLD NEW",
    "tasks reset": "TASK",
    "tasks mark": "TASK STATE",
    "cache stats": "",
    "cache why": "[KEY]",
    "cache verify": "",
    "cache gc": "RUN_FOLDERS...",
    "cache export": "FOLDER",
    "cache import": "FOLDER",
    "data check": "PATH",
    "data stats": "PATH",
    "serve": "CHECKPOINT",
}
"""Every command, and what stands behind its name."""

CATALOGUES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


def preferred_language(environment: Mapping[str, str]) -> str:
    """Return the language that the first set locale variable asks for; English if none does."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if locale := environment.get(variable):
            return "zh" if locale.lower().startswith("zh") else "en"
    return "en"


def overview(language: str) -> str:
    """Return what `etude --help` prints."""
    text = CATALOGUES[language]
    commands = [f"  {name:<12} {text[name]}" for name in COMMANDS]
    options = [f"  {name:<12} {text[name]}" for name in ("--lang", "--version", "--help")]
    head = f"{text['usage']} COMMAND ...\n\n{text['title']}"
    parts = [head, "\n".join([text["commands"], *commands])]
    parts += ["\n".join([text["options"], *options]), text["more"], text["exit"]]
    return "\n\n".join(parts)


def command_help(language: str, command: str, options: tuple[str, ...]) -> str:
    """Return what `etude COMMAND --help` prints."""
    text = CATALOGUES[language]
    takes = COMMANDS[command]
    positional = [word.strip("[].") for word in takes.split() if word != "[settings]"]
    names = (*positional, *options, "--lang", "--help")
    lines = [f"  {name:<12} {text[name]}" for name in names]
    parts = [
        f"{text['usage']} {' '.join([command, *takes.split()])} [options]\n\n{text[command]}",
        "\n".join([text["options"], *lines]),
    ]
    if "settings" in takes:
        parts.append(text["settings"])
    return "\n\n".join([*parts, text["exit"]])


def duration(language: str, seconds: float) -> str:
    """Return a duration as people say it."""
    text = CATALOGUES[language]
    whole = max(0, round(seconds))
    if whole < 60:
        return text["seconds"].format(s=whole)
    if whole < 3600:
        return text["minutes"].format(m=whole // 60, s=whole % 60)
    return text["hours"].format(h=whole // 3600, m=whole % 3600 // 60)
