# SPDX-License-Identifier: MIT
"""Rules of the house that a program can check. rules.py holds the tables, each module one kind of rule, run runs all."""
