"""The process group: joining it from the launcher's environment, and leaving it cleanly."""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import distributed
from torch.distributed import PrefixStore, Store, TCPStore

from etude.compute.launch import Launch, read_launch
from etude.compute.world_config import WorldConfig
from etude.core.errors import ConfigError, EtudeError
from etude.core.ranks import Solo

T = TypeVar("T")


class World:
    """All processes of a run, over torch.distributed."""

    def __init__(self, store: Store, *, rank: int, size: int) -> None:
        self.store = store
        """Shared by all ranks; keys are the caller's own."""
        self._rank = rank
        self._size = size
        self._names = 0

    @property
    def rank(self) -> int:
        """Place of this process, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of processes."""
        return self._size

    def next_name(self) -> str:
        """Return a name for something shared: the n-th call returns the same on every rank."""
        self._names += 1
        return str(self._names)

    def gather(self, value: T) -> list[T]:
        """Return every rank's value, in rank order, on every rank.

        Raises:
            EtudeError: A rank died, or did not come in time.
        """
        values: list[Any] = [None] * self._size
        try:
            distributed.all_gather_object(values, value)
        except RuntimeError as error:
            raise EtudeError(
                f"rank {self._rank} lost the others: {_reason(error)}",
                hint="Read the first error of another rank, then run the same command again; "
                "what was finished is kept.",
            ) from error
        return values


@contextmanager
def join(
    config: WorldConfig, environment: Mapping[str, str] = os.environ
) -> Generator[World | Solo, None, None]:
    """Be a rank among those that the launcher started, or the only process.

    After a clean end all ranks leave together; after a failure this one leaves at once, which
    the others notice in their next `gather`.

    Raises:
        ConfigError: The environment contradicts itself, or that of another rank.
        EtudeError: A rank does not come.
    """
    launch = read_launch(environment)
    if launch is None or launch.size == 1:
        yield Solo()
        return
    store = _open_store(launch, config)
    accelerated = _meet(store, launch, config)
    if accelerated:
        torch.cuda.set_device(launch.local_rank)
    _form_group(store, launch, config, accelerated=accelerated)
    try:
        world = World(PrefixStore("shared", store), rank=launch.rank, size=launch.size)
        yield world
        world.gather(None)
    finally:
        distributed.destroy_process_group()


def _open_store(launch: Launch, config: WorldConfig) -> Store:
    try:
        store = TCPStore(
            launch.address,
            launch.port,
            is_master=launch.hosts_store,
            timeout=timedelta(seconds=config.join_timeout_s),
            wait_for_workers=False,
        )
    except distributed.DistError as error:
        raise EtudeError(
            f"rank {launch.rank} cannot meet the others at {launch.address}:{launch.port}: "
            f"{_reason(error)}",
            hint="Set MASTER_ADDR and MASTER_PORT to a free port that all machines reach.",
        ) from error
    return PrefixStore(f"etude/{launch.attempt}", store)


def _meet(store: Store, launch: Launch, config: WorldConfig) -> bool:
    """Wait for all ranks and return whether each of them has a GPU of its own.

    Limit: a launcher that shows each process only its own GPU gets the CPU's backend.
    """
    said = store.compare_set("size", "", str(launch.size)).decode()
    if said != str(launch.size):
        raise ConfigError(
            f"WORLD_SIZE is {launch.size} on rank {launch.rank} and {said} on another",
            hint="Start all ranks with the same --nnodes and --nproc-per-node.",
        )
    own_gpu = torch.cuda.is_available() and launch.local_size <= torch.cuda.device_count()
    store.add("gpus", int(own_gpu))
    if store.add(f"joined/{launch.rank}", 1) > 1:
        raise ConfigError(
            f"RANK is {launch.rank} in two processes",
            hint="Give every machine its own --node-rank.",
        )
    keys = [f"joined/{rank}" for rank in range(launch.size)]
    try:
        store.wait(keys, timedelta(seconds=config.join_timeout_s))
    except distributed.DistError as error:
        absent = [str(rank) for rank, key in enumerate(keys) if not store.check([key])]
        raise EtudeError(
            f"rank {', '.join(absent)} of {launch.size} did not join within "
            f"{config.join_timeout_s:g} s",
            hint="Look at the output of the absent ranks, or raise join_timeout_s.",
        ) from error
    return store.add("gpus", 0) == launch.size


def _form_group(store: Store, launch: Launch, config: WorldConfig, *, accelerated: bool) -> None:
    wait = timedelta(seconds=config.timeout_s)
    store.set_timeout(wait)
    try:
        distributed.init_process_group(
            # ROCm answers to the name nccl, too. Objects travel over the CPU's backend.
            "cpu:gloo,cuda:nccl" if accelerated else "gloo",
            store=store,
            rank=launch.rank,
            world_size=launch.size,
            timeout=wait,
        )
    except RuntimeError as error:
        raise EtudeError(
            f"rank {launch.rank} cannot connect to the others: {_reason(error)}",
            hint="Set GLOO_SOCKET_IFNAME to the network interface that joins the machines.",
        ) from error


def _reason(error: Exception) -> str:
    """Return what a library says, without its source line and its advice."""
    return re.sub(r"^\[.*?\]\s*", "", str(error).partition("\n")[0]).partition(". ")[0]
