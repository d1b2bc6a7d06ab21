# SPDX-License-Identifier: MIT
"""Rules of the house that a program can check: rules.py has the tables, each module one kind of rule, run runs all."""
