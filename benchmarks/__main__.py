"""`python -m benchmarks [--size S|M|L] [--only NAME ...] [--out FILE]`: measures, and says what was promised."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks import (
    cognition,
    embedding,
    facts,
    importing,
    ranking,
    recalling,
    rest,
    startup,
    updates,
    upkeep,
    words_in,
)
from benchmarks.measuring import say
from benchmarks.plot import plot, plot_recall
from benchmarks.server import BenchServer, bench_dir, open_server
from benchmarks.targets import table, targets
from perdure.clock import wall_clock

SIZES: Final = {
    "S": ((8_000,), 256),
    "M": ((10_000, 50_000), 2560),
    "L": ((10_000, 50_000, 100_000), 2560),
}
"""Memories in the large spaces, and dimensions. The smallest is still answered by index."""

PARTS: Final = (
    *("ranking", "recall", "rest", "import", "words-in", "upkeep", "cognition", "facts", "startup", "embedding"),
)


def main() -> None:
    arguments = _arguments()
    arguments.dir.mkdir(parents=True, exist_ok=True)
    out: Path = arguments.out or arguments.dir / "results.json"
    results: dict[str, Any] = {
        "size": arguments.size,
        "taken_at": wall_clock().isoformat(timespec="seconds"),
        "machine": {"cpus": os.cpu_count(), "system": platform.system(), "machine": platform.machine()},
    }
    load = _load()
    say(f"{os.cpu_count()} cores, load {load} before.")
    with open_server(arguments.dir) as server:
        results["machine"]["postgresql"] = server.server.version
        results |= asyncio.run(_measure(server, arguments.size, arguments.only))
        if "words-in" in arguments.only:
            results["words_in"] = words_in.measure(server, arguments.size)
    results["machine"]["load"] = {"before": load, "after": _load()}
    found = targets(results)
    results["targets"] = [asdict(target) for target in found]
    out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(table(found))
    pictures = ((plot, out.with_suffix(".png")), (plot_recall, out.with_suffix(".recall.png")))
    drawn = [picture for draw, picture in pictures if draw(results, picture)]
    say(f"Figures: {', '.join(map(str, [out, *drawn]))}")


async def _measure(server: BenchServer, size: str, parts: tuple[str, ...]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    if "startup" in parts:
        results["startup"] = startup.measure()
    if "embedding" in parts:
        results["embedding"] = await embedding.measure()
    if "import" in parts:
        prepared = importing.prepare(importing.BEFORE_INDEX + importing.BESIDE_INDEX)
        with server.passing("imported") as urls:
            async with importing.empty_family(urls, prepared) as (resources, space):
                results["import"] = await importing.measure(server, resources, space, prepared.messages)
            results["updates"] = await updates.measure(server, urls, space.id)
    if "upkeep" in parts:
        results["upkeep"] = await upkeep.measure(server, size)
    if "cognition" in parts:
        results["cognition"] = await cognition.measure(server, size)
    if "facts" in parts:
        results["facts"] = await facts.measure(server, size)
    if "ranking" in parts:
        results["ranking"] = await ranking.measure(server, *SIZES[size])
    if "recall" in parts:
        results["recall"] = await recalling.measure(server, size)
    if "rest" in parts:
        results["rest"] = await rest.measure(server, size)
    return results


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures Perdure's speed.")
    parser.add_argument("--size", choices=sorted(SIZES), default="M", help="S takes two minutes, M ten, L half an hour")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part; may be repeated")
    parser.add_argument("--out", type=Path, help="the file of figures; default results.json in the directory")
    parser.add_argument("--dir", type=Path, default=bench_dir(), help="data sets, kept between runs")
    arguments = parser.parse_args()
    arguments.only = tuple(arguments.only or PARTS)
    return arguments


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


if __name__ == "__main__":
    main()
