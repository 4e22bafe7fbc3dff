"""How long `etude --help` takes, beside a Python that does nothing, and what it imports."""

import subprocess
import sys
import time
from statistics import median

from result import publish

HEAVY = ("torch", "numpy", "pydantic", "gymnasium", "pyarrow")
ROUNDS = 15


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    asked = [sys.executable, "-m", "etude", "--help"]
    empty = [sys.executable, "-c", ""]
    help_s, python_s = [], []
    for _ in range(ROUNDS):
        help_s.append(timed(asked))
        python_s.append(timed(empty))
    script = (
        "import sys; sys.argv = ['etude', '--help']\n"
        "from etude.cli.main import main\n"
        "code = main()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    publish(
        "startup",
        {
            "rounds": ROUNDS,
            "help_s": round(median(help_s), 4),
            "bare_python_s": round(median(python_s), 4),
            "heavy_imports": done.stderr.strip(),
        },
    )


def timed(command: list[str]) -> float:
    """Return the seconds that a command takes."""
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
