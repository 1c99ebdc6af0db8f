"""How PyTorch computes during a run: threads, the type of the matrix products, and memory that is kept."""

import contextlib
import ctypes
import logging
import os
from collections.abc import Iterator

import torch

from rnnsearch.config import TrainingSettings

#: Instructions that multiply bfloat16, and who says whether they are there: PyTorch only under names of its own.
DETECTORS = {"AMX": "_is_amx_tile_supported", "AVX512-BF16": "_is_avx512_bf16_supported"}
#: Parameters of glibc's mallopt: from which size a block is asked of the system, and what is given back to it.
M_MMAP_THRESHOLD, M_TRIM_THRESHOLD = -3, -1

logger = logging.getLogger("rnnsearch")


def type_of_products(settings: TrainingSettings, device: torch.device) -> torch.dtype:
    """float32 or bfloat16, as set or, for `auto`, where this device multiplies bfloat16 faster; logs which and why."""
    able, reason = _bfloat16_is_fast(device)
    if settings.precision == "float32" or (settings.precision == "auto" and not able):
        logger.info("matrix products in float32 (%s)", "as set" if settings.precision == "float32" else reason)
        return torch.float32
    if not able:
        logger.warning("matrix products in bfloat16 as set, but %s: float32 is faster here", reason)
        return torch.bfloat16
    logger.info("matrix products in bfloat16, sums, states and weights in float32 (%s)", reason)
    return torch.bfloat16


def _bfloat16_is_fast(device: torch.device) -> tuple[bool, str]:
    """Whether the device has instructions for bfloat16, and what to say of it."""
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
        return able, f"the GPU has {'' if able else 'no '}bfloat16"
    for feature in DETECTORS:
        if _has(feature) and torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            return True, f"the processor has {feature}"
    return False, f"the processor has neither {' nor '.join(DETECTORS)}"


def _has(feature: str) -> bool:
    # Where a release of PyTorch has dropped the name, float32 is always right.
    return bool(getattr(torch.cpu, DETECTORS[feature], bool)())


@contextlib.contextmanager
def torch_set_up(settings: TrainingSettings, device: str, threads: int | None) -> Iterator[None]:
    """PyTorch's threads, where they were asked for, and its precision of products; both as before when it ends."""
    threads_before, precision_before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    # oneDNN is the faster library. With AMX it may round to bfloat16 then, so not where float32 was asked for by name.
    medium = device == "cpu" and (settings.precision != "float32" or not _has("AMX"))
    # oneDNN keeps code and scratch memory for each shape of product it has seen, 1,024 of them unless told otherwise:
    # gigabytes with batches of every shape. Without AMX fewer cost no measurable time; with it they cost
    # some 30 % of the speed of two cores, because the code is made again and again. It reads this at its first product.
    if not _has("AMX"):
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    _keep_memory()
    torch.set_float32_matmul_precision("medium" if medium else "highest")
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision_before)
        torch.set_num_threads(threads_before)


def _keep_memory() -> None:
    """Let large blocks that are freed serve again: to get them from the system anew, page by page, costs more.

    Only glibc (Linux) can be told so.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        library.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
