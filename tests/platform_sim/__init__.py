# SPDX-License-Identifier: MIT
"""The fake platforms that judge landfall: five platforms, their faults and the count of what was really published."""
