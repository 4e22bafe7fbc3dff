"""What a server says, message by message, without a socket."""

from typing import Any

import numpy as np
import pytest

from etude.core.errors import PolicyError
from etude.core.types import TaskId
from etude.serving.answering import Answerer, BareManners, EnvelopeManners, Reply
from etude.serving.key_map import KeyMap
from etude.serving.places import DialectName
from etude.serving.wire_config import WireConfig
from etude.testing.fakes import ToyPolicy, toy_tasks

ENVELOPE = {
    "message_id": "7",
    "evaluation_id": "e",
    "action_case_id": None,
    "trial_id": "t",
    "repeat_index": 2,
    "step": 5,
    "sent_at": "2026-01-01T00:00:00+00:00",
}
SEEN = {"state": np.array([1.0, 2.0], np.float32)}


class TrainedToy(ToyPolicy):
    """Remembers the tasks and seeds that it was asked about."""

    def __init__(self, count: int = 3, *, texts: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.tasks = toy_tasks(count)
        self.asked: list[TaskId] = []
        self.seeds: list[int] = []

    def act(self, observations: Any, *, seed: int) -> Any:
        self.asked += [seen.task for seen in observations]
        self.seeds.append(seed)
        return super().act(observations, seed=seed)


def bare(policy: ToyPolicy, dialect: DialectName = "openpi") -> BareManners:
    keys = KeyMap(WireConfig(dialect=dialect))
    return BareManners(Answerer(policy, keys), keys, {"etude": "0"})


def enveloped(policy: ToyPolicy) -> EnvelopeManners:
    keys = KeyMap(WireConfig(dialect="xpolicylab"))
    return EnvelopeManners(Answerer(policy, keys), keys, {"horizon": 4})


def message_of(reply: Reply) -> dict[str, Any]:
    assert reply.message is not None
    return dict(reply.message)


def test_openpis_dialect_answers_with_a_chunk_and_what_it_took():
    reply = bare(ToyPolicy()).reply(SEEN)

    message = message_of(reply)
    assert set(message) == {"actions", "server_timing"}
    assert message["actions"].tolist() == [[1.5, 1.5]] * 4
    assert message["server_timing"]["infer_ms"] >= 0
    assert (reply.windows, reply.over, reply.failed) == (1, False, False)


def test_lingbots_dialect_answers_resets_and_batches():
    policy = ToyPolicy()
    manners = bare(policy, "lingbot")
    seen = {"observation.state": [1.0, 2.0], "task": "do task 0"}

    reset = manners.reply({"reset": True, "robo_name": "robotwin", "path_to_pi_model": None})
    reply = manners.reply({"batch": [seen, seen]})

    assert message_of(reset)["action"] is None
    assert message_of(reply)["action"].shape == (2, 4, 2)
    assert (reset.windows, reply.windows) == (0, 2)
    assert policy.batch_sizes == [2]


def test_openpis_server_takes_lingbots_resets_and_batches():
    manners = bare(ToyPolicy())

    assert message_of(manners.reply({"reset": True, "robo_name": "x"}))["action"] is None
    assert message_of(manners.reply({"batch": [SEEN, SEEN]}))["actions"].shape == (2, 4, 2)


def test_a_task_is_found_by_its_id_or_by_its_instruction():
    policy = TrainedToy()
    manners = bare(policy)

    manners.reply({**SEEN, "prompt": "do task 2"})
    manners.reply({**SEEN, "prompt": "another", "etude/task": "toy/1", "etude/seed": 9})

    assert policy.asked == ["toy/2", "toy/1"]
    assert policy.seeds == [0, 9]


def test_a_policy_of_one_task_needs_no_instruction():
    policy = TrainedToy(1)

    bare(policy).reply(SEEN)

    assert policy.asked == ["toy/0"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ([1], "PolicyError: a message holds a list, not a map."),
        (
            {"prompt": "do task 1"},
            "PolicyError: an observation has no 'state'; its keys are prompt",
        ),
        ({**SEEN, "prompt": "dance"}, "the instruction 'dance' is that of none of the 3 tasks"),
        ({**SEEN, "etude/task": "toy/0", "etude/seed": -1}, "'etude/seed' is -1, not a whole"),
        ({"batch": []}, "a batch holds no observation"),
        ({"batch": {}}, "a batch is a dict, not a list"),
        ({"batch": [3]}, "a message holds a int, not a map"),
        (
            {"batch": [{**SEEN, "etude/task": "toy/0", "etude/seed": seed} for seed in (0, 1)]},
            "a batch has 2 seeds, not one",
        ),
    ],
)
def test_a_failure_is_one_line_of_text_and_ends_the_conversation(message: Any, said: str):
    reply = bare(TrainedToy()).reply(message)

    assert said in reply.text
    assert "\n" not in reply.text
    assert (reply.message, reply.over, reply.failed) == (None, True, True)


@pytest.mark.parametrize(
    ("kind", "payload", "answer", "content"),
    [
        ("hello", {}, "hello_ack", {"ok": True, "horizon": 4}),
        ("reset", {"trial_id": "t"}, "reset_result", {"ok": True}),
        ("prepare_case", {}, "prepare_case_ack", {"ok": True}),
        ("trial_end", {}, "trial_end_ack", {"ok": True}),
        ("heartbeat", {}, "heartbeat_ack", {"ok": True}),
    ],
)
def test_an_envelope_is_answered_by_one_of_its_type_with_the_same_ids(
    kind: str, payload: dict[str, Any], answer: str, content: dict[str, Any]
):
    asked = {**ENVELOPE, "message_type": kind, "payload": payload}

    message = message_of(enveloped(ToyPolicy()).reply(asked))

    assert message.pop("sent_at") > "2026"
    repeated = {name: value for name, value in ENVELOPE.items() if name != "sent_at"}
    assert message == {**repeated, "message_type": answer, "payload": content}


def test_actions_in_an_envelope_stand_in_its_payload():
    asked = {**ENVELOPE, "message_type": "infer", "payload": {"observation": SEEN}}

    reply = enveloped(ToyPolicy()).reply(asked)

    message = message_of(reply)
    assert message["message_type"] == "infer_result"
    assert message["payload"]["actions"].tolist() == [[1.5, 1.5]] * 4
    assert message["payload"]["latency_ms"] >= 0
    assert reply.windows == 1


@pytest.mark.parametrize(
    ("message", "code", "said"),
    [
        ({**ENVELOPE, "message_type": "dance", "payload": {}}, "invalid_frame", "type 'dance'"),
        ({**ENVELOPE, "message_type": "infer", "payload": {}}, "infer_failed", "a NoneType, not"),
        ({**ENVELOPE, "message_type": "infer", "payload": 3}, "infer_failed", "a int, not a map"),
        (3, "invalid_frame", "a message holds a int, not a map"),
    ],
)
def test_a_failure_in_an_envelope_leaves_the_connection_open(message: Any, code: str, said: str):
    reply = enveloped(ToyPolicy()).reply(message)

    content = message_of(reply)
    assert content["message_type"] == "error"
    assert content["payload"]["code"] == code
    assert said in content["payload"]["message"]
    assert (reply.over, reply.failed) == (False, True)


def test_close_ends_the_conversation_without_a_word():
    reply = enveloped(ToyPolicy()).reply({**ENVELOPE, "message_type": "close", "payload": {}})

    assert reply == Reply(message=None, over=True)


def test_padding_is_not_served_as_actions():
    class Padding(ToyPolicy):
        def act(self, observations: Any, *, seed: int) -> Any:
            chunks = list(super().act(observations, seed=seed))
            chunks[0].valid[-1] = False
            return chunks

    keys = KeyMap(WireConfig())
    with pytest.raises(PolicyError, match="padding, which cannot be told from actions"):
        Answerer(Padding(), keys).actions([SEEN])
