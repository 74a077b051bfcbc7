"""Build configuration of the kernel: its paths, and the support of NFS over UDP."""

import gzip
from pathlib import Path

import pytest

from app.kernel import build_config

CONFIG = "CONFIG_NFS_FS=m\nCONFIG_NFS_DISABLE_UDP_SUPPORT=y\n"


def put(root: Path, place: str, content: bytes) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("place", "packed"),
    [
        ("proc/config.gz", gzip.compress(CONFIG.encode(), mtime=0)),
        ("boot/config-6.1", CONFIG.encode()),
        ("lib/modules/6.1/config", CONFIG.encode()),
        ("usr/lib/uml/modules/6.1/kernel/kernel/configs.ko",
         b"\x7fELF IKCFG_ST" + gzip.compress(CONFIG.encode(), mtime=0) + b"IKCFG_ED\0rest"),
    ],
)  # fmt: skip
def test_udp_support_is_read_from_the_kernels_configuration(
    tmp_path: Path, place: str, packed: bytes
) -> None:
    put(tmp_path, place, packed)
    answer, source = build_config.udp_support("6.1", str(tmp_path))
    assert answer is False
    assert place in source


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ("CONFIG_NFS_FS=y\n# CONFIG_NFS_DISABLE_UDP_SUPPORT is not set\n", True),
        ("CONFIG_NFS_FS=y\n", True),
        ("# CONFIG_NFS_FS is not set\n", False),
        ("", None),
    ],
)
def test_what_a_configuration_means(tmp_path: Path, config: str, answer: bool | None) -> None:
    put(tmp_path, "boot/config-6.1", config.encode())
    assert build_config.udp_support("6.1", str(tmp_path))[0] is answer


@pytest.mark.parametrize("place", ["proc/config.gz", "lib/modules/6.1/kernel/kernel/configs.ko"])
@pytest.mark.parametrize("content", [b"", b"\x1f\x8b\x08\x00", b"not packed", b"IKCFG_ST\x1f\x8b"])
def test_a_damaged_configuration_is_passed_over(tmp_path: Path, place: str, content: bytes) -> None:
    put(tmp_path, place, content)
    put(tmp_path, "boot/config-6.1", CONFIG.encode())
    assert build_config.udp_support("6.1", str(tmp_path))[0] is False
