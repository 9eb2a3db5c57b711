"""The options of `meshreel.compile`, for editors and type checkers.

`meshreel compile --help` describes each, under its name with - for _.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class CompileOptions(TypedDict, total=False):
    """Options of `compile`. What has a unit or a pattern is text, as on the command line."""

    # The promise
    tolerance: float | str | Sequence[float | str] | None
    shell: float | str | None
    normal_tolerance: float | str | None
    uv_tolerance: float | str | None
    scalar_tolerance: float | str | None
    no_verify: bool | None
    colour_bits: int | None
    # Content
    channels: str | None
    include: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    show_hidden: bool | None
    merge_at: Literal["frame", "zero"] | None
    range: str | None
    fps: float | str | None
    between: float | Literal["auto", "off"] | None
    source_fps: float | str | None
    animation: int | str | None
    rig: Literal["bake", "keep", "only"] | None
    unit: Literal["m", "cm", "mm", "in"] | None
    smooth_angle: float | str | None
    cycle: bool | None
    remesh: bool | None
    remesh_blend: int | None
    lod: int | None
    cull_hidden: bool | None
    attributes_apart: bool | None
    clips_only: bool | None
    short_source_map: bool | None
    strip: bool | None
    # Compression
    method: Literal["auto", "static", "rigid", "skinned", "soft", "fluid"] | None
    transforms: Literal["clip", "packed"] | None
    parts: str | None
    codec: Literal["sampled", "curve", "auto", "random-access"] | None
    preset: Literal["small", "fast", "classic"] | None
    block: Literal["store", "deflate", "lz4hc", "zstd"] | None
    index_every: int | None
    effort: int | None
    # Running
    jobs: int | None
    memory: int | str | None
    strict: bool | None
    explain: bool | None
    dry_run: bool | None
