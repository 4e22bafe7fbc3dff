"""Episodes as RoboTwin writes them, in both layouts, small and with frames that name themselves."""

import io
import json
from pathlib import Path

import h5py
import numpy as np
from PIL import Image

RED, GREEN, BLUE = 200, 120, 30


def picture(frame: int) -> np.ndarray:
    """Return what the camera sees in RGB: a reddish surface, darker from frame to frame."""
    rgb = np.empty((24, 32, 3), np.uint8)
    rgb[:] = (RED - 8 * frame, GREEN, BLUE)
    return rgb


def encoded(frame: int) -> bytes:
    """Return the picture as RoboTwin's encoder writes it: red and blue exchanged."""
    out = io.BytesIO()
    Image.fromarray(picture(frame)[..., ::-1]).save(out, "JPEG", quality=95, subsampling=0)
    return out.getvalue()


def padded(frames: int) -> np.ndarray:
    pictures = [encoded(frame) for frame in range(frames)]
    return np.array(pictures, dtype=f"S{max(map(len, pictures)) + 7}")


def joints(episode: int, frames: int) -> np.ndarray:
    table = np.zeros((frames, 14))
    table[:, 0] = 100 * episode + np.arange(frames)
    table[:, 6] = np.arange(frames) >= 2
    table[:, 13] = 0.5
    return table


def write_old(folder: Path, episode: int, frames: int, *, text: str = "lift the pot") -> Path:
    """Write the older layout: <task>/<config>/data/episode0.hdf5, instructions beside it."""
    path = folder / f"data/episode{episode}.hdf5"
    path.parent.mkdir(parents=True, exist_ok=True)
    values = joints(episode, frames)
    with h5py.File(path, "w") as file:
        file["joint_action/left_arm"] = values[:, :6]
        file["joint_action/left_gripper"] = values[:, 6]
        file["joint_action/right_arm"] = values[:, 7:13]
        file["joint_action/right_gripper"] = values[:, 13]
        file["joint_action/vector"] = values
        file["observation/head_camera/rgb"] = padded(frames)
        file["observation/head_camera/intrinsic_cv"] = np.zeros((frames, 3, 3))
        file["endpose/left_endpose"] = np.zeros((frames, 7))
        file["pointcloud"] = np.zeros((frames, 0))
    words = folder / f"instructions/episode{episode}.json"
    words.parent.mkdir(exist_ok=True)
    words.write_text(json.dumps({"seen": [text, "raise it"], "unseen": ["hoist it"]}))
    return path


def write_new(folder: Path, episode: int, frames: int, *, text: str = "lift the pot") -> Path:
    """Write the layout v1.0: one frame fewer, action[t] = state[t + 1]."""
    path = folder / f"data/episode_{episode:07d}.hdf5"
    path.parent.mkdir(parents=True, exist_ok=True)
    values = joints(episode, frames)
    with h5py.File(path, "w") as file:
        file.attrs["source_format"] = "robotwin_pkl"
        file["data_format_version"] = "v1.0"
        file["instructions"] = json.dumps({"seen": [text], "unseen": []})
        file["additional_info/frequency"] = np.int32(25)
        for name, rows in {"state": values[:-1], "action": values[1:]}.items():
            file[f"{name}/left_arm_joint_states"] = rows[:, :6]
            file[f"{name}/left_ee_joint_states"] = rows[:, 6:7]
            file[f"{name}/right_arm_joint_states"] = rows[:, 7:13]
            file[f"{name}/right_ee_joint_states"] = rows[:, 13:]
            file[f"{name}/left_ee_poses"] = np.zeros((frames - 1, 7))
        file["vision/cam_head/colors"] = padded(frames - 1)
        file["vision/cam_head/shape"] = [24, 32, 3]
        file["vision/cam_head/extrinsics_matrix"] = np.eye(4)
    return path
