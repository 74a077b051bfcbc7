"""Workaround for processors with AMX: the replaced ptrace, and its detection and build."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.lab import xstate
from app.process import find_program

#: Program that traces a child: it reads the registers, changes one byte of the first vector register, and
#: writes them back in a buffer shorter than the host's. It also reads a word of the child by PTRACE_PEEK.
_TRACER = """
import ctypes, os, signal
WORD = ctypes.c_long(0x6d6f756e74)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
class Buffer(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
child = os.fork()
if not child:
    libc.ptrace(0, 0, None, None)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
os.waitpid(child, 0)
data = ctypes.create_string_buffer(65536)
def registers(request, length):
    buffer = Buffer(ctypes.addressof(data), length)
    return libc.ptrace(request, child, 0x202, ctypes.addressof(buffer)), buffer.length
assert libc.ptrace(2, child, ctypes.addressof(WORD), None) == WORD.value
assert libc.ptrace(2, child, 16, None) == -1 and ctypes.get_errno()
_done, whole = registers(0x4204, 65536)
data[160] = data[160][0] ^ 255
changed, data[512] = data[160], data[512][0] | 2
told = registers(0x4205, min(2696, whole - 64))[0], ctypes.get_errno()
registers(0x4204, 65536)
print(told[0], data[160] == changed)
os.kill(child, signal.SIGKILL)
"""


@pytest.mark.skipif(find_program("cc") is None, reason="no compiler, which only AMX needs")
def test_a_short_register_buffer_is_extended(tmp_path: Path) -> None:
    def trace(**env: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _TRACER], check=False, env=env, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    assert trace().startswith("-1 ")  # the host refuses the short buffer
    assert trace(LD_PRELOAD=str(xstate.build(tmp_path))) == "0 True\n"


@pytest.mark.parametrize(
    ("flags", "needed"), [("fpu avx512f amx_bf16 amx_tile", True), ("fpu avx512f pku", False)]
)
def test_a_processor_with_amx_is_detected(tmp_path: Path, flags: str, needed: bool) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags} bogus\nbugs\t\t: amx_tile\n")
    assert xstate.is_needed(tmp_path / "cpuinfo") is needed


def test_the_library_of_a_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tmp_path / "xstate.so"
    monkeypatch.setattr(xstate, "_COMPILED", compiled)
    monkeypatch.setattr(xstate, "is_needed", lambda: True)
    assert xstate.needs_compiler()
    compiled.touch()
    assert not xstate.needs_compiler()
    assert xstate.environment(tmp_path) == {"LD_PRELOAD": str(compiled)}
