"""The state of a run on disk: written whole or not at all, and taken up only by the run that it belongs to.
SPDX-License-Identifier: Apache-2.0"""
import os

import torch

from .fault import Fault


def save_state(path, state):
    with open(path + ".part", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def load_state(path, settings):
    """None when there is none yet."""
    if not os.path.exists(path):
        return None
    state = torch.load(path, map_location="cpu", weights_only=True)
    for name, value in settings.items():
        if state["settings"].get(name) != value:
            raise Fault(f"{path} belongs to a run with another {name} ({state['settings'].get(name)}, now {value}); "
                        "use the former settings, or another --out")
    return state
