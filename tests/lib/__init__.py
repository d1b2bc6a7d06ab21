# SPDX-License-Identifier: MIT
"""What the Python tests share: processes (procs.py) and private Redis servers (redis_server.py)."""
