#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait.h and what is behind it: tools, programs that ask for events, and the examples.

    tests/tool/run.py [NAME]...     only the cases whose names contain one of these
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import main  # noqa: E402
import bad_tools  # noqa: E402,F401
import library  # noqa: E402,F401
import views  # noqa: E402,F401

if __name__ == "__main__":
    main()
