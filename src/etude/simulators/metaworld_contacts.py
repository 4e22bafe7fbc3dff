"""Which object the gripper holds, asked of MuJoCo in one read instead of hundreds.

Meta-World asks twice at each step by building a Python object for each contact, which takes a
quarter of the time of a step where things are grasped.
"""

from typing import Any


class PadContacts:
    """Says whether both pads of the gripper press on an object."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._left = int(data.geom("leftpad_geom").id)
        self._right = int(data.geom("rightpad_geom").id)

    def touching_object(self, object_geom_id: int) -> bool:
        """Return what Meta-World's method of the same name returns.

        Source: Meta-World 3.1.1, `sawyer_xyz_env.py`.
        """
        left = right = 0.0
        for number, pair in enumerate(self._data.contact.geom.tolist()):
            if object_geom_id in pair and (self._left in pair or self._right in pair):
                force = float(self._data.efc_force[self._data.contact.efc_address[number]])
                left += force if self._left in pair else 0.0
                right += force if self._right in pair else 0.0
        return left > 0 and right > 0
