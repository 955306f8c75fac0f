"""What happens to Ray clusters while the command plays on them. `python tests/tools/ray_faults.py` does this and more:
nodes and processes that are killed or sleep, a host that alters a move, an interrupt, other code, a head that is lost, a
token that is missing.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None or not sys.platform.startswith("linux"), reason="needs ray, on Linux"
    ),
]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A cluster that all cases damage, one after the other."""
    from ray_nodes import Nodes
    from sitting import environment, laid_out

    with Nodes(environment(laid_out(tmp_path_factory.mktemp("cluster")))) as found:
        yield found


@pytest.mark.parametrize("case", ["client", "driver"])
def test_the_games_are_the_same(nodes, tmp_path, case):
    from ray_faults import tried

    if case == "client" and importlib.util.find_spec("grpc") is None:
        pytest.skip("needs ray[client]")
    assert tried(case, nodes, tmp_path)


def test_a_full_disk_is_one_line(nodes, tmp_path):
    from ray_faults import tried

    if os.geteuid():
        pytest.skip("only root can make a small disk")
    said = tried("disk", nodes, tmp_path)
    assert "finished games cannot be kept" in said or "no room" in said


def test_a_node_that_is_cut_off_for_a_while(tmp_path):
    from ray_partition import partition, possible

    if not possible():
        pytest.skip("network namespaces cannot be made here")
    assert "nothing noted; its raylet lives" in partition(5.0, tmp_path)
