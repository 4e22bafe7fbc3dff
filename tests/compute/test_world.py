import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from etude.compute.queues import open_queue
from etude.compute.world import join
from etude.compute.world_config import WorldConfig
from etude.core.errors import ConfigError, DataError, EtudeError
from etude.core.kill_points import VARIABLE
from etude.core.ranks import Solo, together
from etude.core.types import ContentKey, TaskId, WorkItem
from etude.store.journal import Journal, read_journal
from etude.testing.conformance import check_ranks

LIMIT_S = 60
WORK = [
    WorkItem(key=ContentKey(f"{i:02}"), task=TaskId(f"toy/{i}"), cost=1 + i % 3) for i in range(20)
]


def keep_contracts(folder: Path) -> None:
    """Let every rank gather, share work twice, share too little work, and fail with another."""
    with join(WorldConfig()) as ranks:
        check_ranks(ranks)
        queues = [open_queue(ranks), open_queue(ranks)]
        shares = [
            together(ranks, lambda q=q, w=w: [item.key for item in q.items(w)])
            for q in queues
            for w in (WORK, WORK[:1], ())
        ]
        failure = ""
        try:
            together(ranks, lambda: fail(last=ranks.rank == ranks.size - 1))
        except DataError as error:
            failure = str(error)
        said = {
            "kind": type(ranks).__name__,
            "size": ranks.size,
            "queue": type(queues[0]).__name__,
            "shares": shares,
            "failure": failure,
        }
        (folder / f"{ranks.rank}.json").write_text(json.dumps(said))


def fail(*, last: bool) -> None:
    if last:
        raise DataError("episode 3 is torn")


def do_work(folder: Path) -> None:
    """Do what no earlier call has done. Of two ranks only rank 1 may be killed."""
    wounded = VARIABLE in os.environ
    if os.environ["RANK"] != "1":
        os.environ.pop(VARIABLE, None)
    done = {record["key"] for path in folder.glob("*.jsonl") for record in read_journal(path)}
    with join(WorldConfig()) as ranks:
        done = ranks.gather(done)[0]
        missing = [item for item in WORK if item.key not in done]
        with Journal(folder / f"{ranks.rank}.{len(done)}.jsonl") as journal:
            for count, item in enumerate(open_queue(ranks).items(missing), start=1):
                journal.append({"key": item.key})
                if wounded and ranks.rank == 0 and count == 3:
                    ranks.gather(None)  # leaves work for rank 1, which dies before it comes here
        ranks.gather(None)


def die_once(folder: Path) -> None:
    """Lose rank 1 in the first attempt of the launcher, and share all work in the second."""
    with join(WorldConfig()) as ranks:
        items = open_queue(ranks).items(WORK)
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            ranks.gather([item.key for item in items])
            if ranks.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
        shares = ranks.gather([item.key for item in items])
        (folder / f"{ranks.rank}.json").write_text(json.dumps(shares))


def lose_a_rank(folder: Path) -> None:
    """Let rank 1 end as a bug would while rank 0 waits for it, and keep what rank 0 says."""
    try:
        with join(WorldConfig()) as ranks:
            ranks.gather(None)
            if ranks.rank == 1:
                os._exit(1)
            ranks.gather(None)
    except EtudeError as error:
        (folder / "said.json").write_text(json.dumps([str(error), error.hint]))
        raise


def launch(
    ranks: int,
    program: Callable[[Path], None],
    folder: Path,
    *,
    restarts: int = 0,
    **variables: str,
) -> int:
    """Run `program` of this file on `ranks` processes under torchrun; return its exit code."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *(
                "--nproc-per-node",
                str(ranks),
                "--max-restarts",
                str(restarts),
                __file__,
                program.__name__,
                str(folder),
            ),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        timeout=LIMIT_S,
        capture_output=True,
        check=False,
    )
    return done.returncode


def keys_in(folder: Path, pattern: str = "*.jsonl") -> list[str]:
    return [record["key"] for path in folder.glob(pattern) for record in read_journal(path)]


def test_processes_keep_the_contracts_of_ranks_and_queues(tmp_path: Path):
    size = 3

    code = launch(size, keep_contracts, tmp_path)

    assert code == 0
    said = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(size)]
    assert said == [said[0]] * size
    assert said[0]["size"] == size
    assert (said[0]["kind"], said[0]["queue"]) == ("World", "StoreQueue")
    dealt = [sorted(key for share in shares for key in share) for shares in said[0]["shares"]]
    assert dealt == [[item.key for item in WORK], ["00"], []] * 2
    assert said[0]["failure"] == f"rank {size - 1}: episode 3 is torn"


def test_a_rank_that_is_killed_loses_only_the_item_it_had_not_finished(tmp_path: Path):
    first = launch(2, do_work, tmp_path, **{VARIABLE: "queue.item_dealt:2"})
    kept = keys_in(tmp_path)
    second = launch(2, do_work, tmp_path)

    assert first != 0
    assert 1 <= len(kept) <= 4
    assert second == 0
    computed = keys_in(tmp_path, f"?.{len(kept)}.jsonl")
    assert sorted(kept + computed) == [item.key for item in WORK]


def test_a_restart_by_the_launcher_begins_anew_at_the_same_store(tmp_path: Path):
    code = launch(2, die_once, tmp_path, restarts=1)

    assert code == 0
    shares = json.loads((tmp_path / "0.json").read_text())
    assert sorted(key for share in shares for key in share) == [item.key for item in WORK]


def test_a_rank_that_waits_for_a_dead_one_is_told_so(tmp_path: Path):
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    # Without torchrun, which would end rank 0 as soon as rank 1 is dead.
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, lose_a_rank.__name__, str(tmp_path)],
            env={**os.environ, "OMP_NUM_THREADS": "1", **place, "RANK": str(rank)},
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]

    codes = [process.wait(LIMIT_S) for process in processes]

    message, hint = json.loads((tmp_path / "said.json").read_text())
    assert codes == [1, 1]
    assert message.startswith("rank 0 lost the others: ")
    assert "gloo/" not in message
    assert "run the same command again" in hint


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def join_all(launches: Sequence[tuple[int, int]], *, join_timeout_s: float) -> list[EtudeError]:
    """Let one thread for each (RANK, WORLD_SIZE) try to join; return what they raise."""
    port, config = free_port(), WorldConfig(join_timeout_s=join_timeout_s)
    raised: dict[int, EtudeError] = {}

    def live(place: int, rank: int, size: int) -> None:
        environment = {
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
        }
        try:
            with join(config, environment):
                pass
        except EtudeError as error:
            raised[place] = error

    threads = [threading.Thread(target=live, args=(i, *given)) for i, given in enumerate(launches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    return [raised[place] for place in range(len(launches))]


def test_ranks_that_do_not_come_are_named():
    (error,) = join_all([(0, 3)], join_timeout_s=0.5)

    assert str(error) == "rank 1, 2 of 3 did not join within 0.5 s"
    assert type(error) is EtudeError


def test_ranks_that_disagree_about_their_number_are_told_so():
    errors = join_all([(0, 2), (1, 3)], join_timeout_s=2)

    told = [error for error in errors if isinstance(error, ConfigError)]
    assert [str(error) for error in told] in (
        ["WORLD_SIZE is 3 on rank 1 and 2 on another"],
        ["WORLD_SIZE is 2 on rank 0 and 3 on another"],
    )


def test_two_processes_of_one_rank_are_told_so():
    errors = join_all([(0, 3), (1, 3), (1, 3)], join_timeout_s=2)

    told = [str(error) for error in errors if isinstance(error, ConfigError)]
    assert told == ["RANK is 1 in two processes"]


def test_a_store_that_nobody_opens_is_named_with_its_address():
    (error,) = join_all([(1, 2)], join_timeout_s=0.5)

    assert str(error).startswith("rank 1 cannot meet the others at 127.0.0.1:")
    assert "MASTER_PORT" in error.hint


@pytest.mark.parametrize("environment", [{}, {"RANK": "0", "WORLD_SIZE": "1"}])
def test_without_company_a_process_is_on_its_own(environment: dict[str, str]):
    with join(WorldConfig(), environment) as ranks:
        assert isinstance(ranks, Solo)
        check_ranks(ranks)


if __name__ == "__main__":
    programs = (keep_contracts, do_work, die_once, lose_a_rank)
    {program.__name__: program for program in programs}[sys.argv[1]](Path(sys.argv[2]))
