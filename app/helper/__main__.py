"""Entry point from a checkout: ``python3 -IBSXutf8 …/app/helper/__main__.py ACTION``, run by root.

polkit starts the installed launcher (packaging/mountwright-helper) instead. The launcher first checks that
only root can change the files that it is about to run.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.abspath(__file__).rsplit("/", 3)[0])  # noqa: PTH100
    from app.helper.main import main

    sys.exit(main(sys.argv))
