# SPDX-License-Identifier: MIT
"""A disk that is full, in earnest: the spool's folder lies on a file system of a few pages."""
import os

from lib import namespaces
from lib.fleet import Fleet
from lib.namespaces import SmallDisk, alone
from lib.procs import wait_for

pytestmark = namespaces.mounts_needed()
DISK_BYTES, MORE_BYTES = 16 << 10, 1 << 20
NAME = "mastodon/brand/it-1"


@alone
def test_a_full_disk_costs_no_outcome_and_is_used_again_when_there_is_room():
    with Fleet(["mastodon"], proxied=True, config={"worker": {"spool_dir": "spool"}}) as fleet:
        folder = os.path.join(fleet.dir, "spool")
        os.mkdir(folder)
        with SmallDisk(folder, DISK_BYTES) as disk:
            fleet.sim.fault("hold", "mastodon", limit_ms=60_000)
            fleet.add("mastodon/brand", Fleet.item("it-1", _pad="word " * 5000))
            worker = fleet.start_worker()
            fleet.sim.wait("holding")
            name, = os.listdir(folder)
            before = os.stat(os.path.join(folder, name)).st_size
            fleet.proxy.refuse()
            fleet.sim.release(then="close")
            worker.wait_output("event=spool.failed", timeout_s=30)
            assert "No space left on device" in worker.stderr() and worker.running
            assert os.stat(os.path.join(folder, name)).st_size == before, "no half of a line stays"
            disk.grow(MORE_BYTES)
            wait_for(lambda: os.stat(os.path.join(folder, name)).st_size > DISK_BYTES, 20, "the outcome in the file")
            worker.kill()
            fleet.proxy.accept()
            second = fleet.start_worker()
            row = fleet.wait_state(NAME, "uncertain")
            assert (row["reason"], row["attempt"]) == ("no_answer", "1"), f"what the file says, and not only that a lease ended: {row}"
            assert fleet.sim.delivery(NAME)["writes"] == 1 and second.stop() == 0
