"""Start the helper straight from a checkout: ``python3 -IBSXutf8 …/app/helper/__main__.py ROLE``, as root.

Only for a caller that is root already. Across polkit's border the installed launcher is used, which
first checks that nobody but root can change what it is about to run.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).absolute().parents[2]))
    from app.helper.main import main

    sys.exit(main(sys.argv))
