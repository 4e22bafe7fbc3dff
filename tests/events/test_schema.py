import dataclasses
import json
from collections.abc import Callable

from etude.events import schema
from etude.events.schema import EVENTS, Event, TaskLosses, Warned


def declared(field: "dataclasses.Field[object]") -> str:
    name = (
        field.type.__name__
        if isinstance(field.type, type) and not hasattr(field.type, "__origin__")
        else str(field.type)
    )
    return f"{field.name} {name}"


def test_kinds_and_fields_on_disk_change_only_knowingly(golden: Callable[[str, str], None]):
    lines = [
        f"{event.kind}: {', '.join(map(declared, dataclasses.fields(event)))}" for event in EVENTS
    ]

    golden("events.txt", "\n".join(lines) + "\n")


def test_every_event_is_listed_once_under_a_kind_of_its_own():
    defined = [v for v in vars(schema).values() if isinstance(v, type) and issubclass(v, Event)]

    assert [Event, *EVENTS] == defined
    assert len({event.kind for event in EVENTS}) == len(EVENTS)


def test_no_field_hides_one_that_every_record_has():
    common = {"seq", "t", "attempt", "rank", "kind"}

    assert not [e.kind for e in EVENTS if common & {f.name for f in dataclasses.fields(e)}]


def test_an_event_gives_its_own_fields_ready_for_json():
    event = TaskLosses(step=3, losses=[0.5, None], samples=[4, 0])

    assert json.loads(json.dumps(event.fields())) == {
        "step": 3,
        "losses": [0.5, None],
        "samples": [4, 0],
    }
    assert Warned(message="look").fields() == {"message": "look"}
