"""Caches compiled by many processes or machines, with Dask:

    python -m meshreel.farm IN... -o OUT.reel --parts 8 -- --tolerance 0.5mm    one cache, in parts
    python -m meshreel.farm IN... -o FOLDER/                                    each input for itself

Everything behind ``--`` is for ``meshreel compile`` (or ``plan``). Without ``--scheduler`` the workers are
processes of this machine. Inputs, the output and the folder of parts must have the same names on all
machines, and ``meshreel`` must be the same program; a worker takes the one beside its own Python, else the
one on PATH. What fails for a moment (a worker that is killed, a full disk, a lost store) is done again,
``--retries`` times; a wrong input is not. A run that ends early leaves its finished parts in
``OUT.reel.farm``, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: The words of the program, as its --json prints them, or figures of a task.
Answer = dict[str, Any]

#: Classes of errors that another try may cure.
MOMENTARY = {"io", "killed"}


class Failed(Exception):
    """A task that did not work: the class of its error (``killed`` where a signal ended it), and what it said."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(kind, what)
        self.kind, self.what = kind, what

    def __str__(self) -> str:
        return self.what


@dataclasses.dataclass
class Task:
    """A command of the program."""

    name: str
    command: list[str]
    tries: int = 0


def _end_with_parent() -> None:
    """Tells Linux to end this child when its worker is gone."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _children_cpu_seconds() -> float:
    """Returns the CPU seconds of children that have ended; 0 on Windows, which does not count them."""
    times = os.times()
    return times.children_user + times.children_system


def perform(command: list[str]) -> Answer:
    """Runs the program, in a worker: what it says, as JSON, and what it took."""
    # The environment of the worker's Python need not be active.
    folders = [sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)]
    program = shutil.which(command[0], path=os.pathsep.join(folders))
    if program is None:
        what = f"the worker cannot run the program {command[0]}: put it on PATH, or name it with --program"
        raise Failed("misuse", what)
    start, before = time.monotonic(), _children_cpu_seconds()
    words = [program, *command[1:], "--json"]
    at_start = _end_with_parent if sys.platform == "linux" else None
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=at_start)
    used = _children_cpu_seconds() - before
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {}
    if done.returncode:
        error = said.get("error", {})
        kind = "killed" if done.returncode < 0 else error.get("class", "killed")
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        raise Failed(kind, last.removeprefix("error: "))
    return {**said, "seconds": time.monotonic() - start, "cpu_seconds": used, "process": os.getpid()}


class Farm:
    """Tasks on a Dask cluster."""

    def __init__(self, client: Any, retries: int, say: Callable[[str], None]) -> None:
        self.client, self.retries, self.say = client, retries, say
        self.report: list[Answer] = []

    def all(self, tasks: list[Task]) -> tuple[dict[str, Answer], dict[str, Failed]]:
        """Performs tasks, in no order; those that fail for a moment again. What they said, and the first failure of
        each of those that did not work."""
        from distributed import KilledWorker, as_completed

        start = time.monotonic()
        answers: dict[str, Answer] = {}
        failures: dict[str, Failed] = {}
        running = {self._submit(task): task for task in tasks}
        completed = as_completed(list(running))
        for future in completed:
            task = running.pop(future)
            try:
                answers[task.name] = answer = future.result()
                self.report.append({"task": task.name, "tries": task.tries, **_figures(answer)})
            except (Failed, KilledWorker, OSError) as error:
                kind = error.kind if isinstance(error, Failed) else "killed"
                if kind in MOMENTARY and task.tries <= self.retries:
                    self.say(f"{task.name}: {error}; again")
                    again = self._submit(task)
                    running[again] = task
                    completed.add(again)
                    continue
                failures[task.name] = Failed(kind, str(error))
                self.report.append({"task": task.name, "tries": task.tries, "error": str(error), "class": kind})
            done = len(answers) + len(failures)
            left = (time.monotonic() - start) / done * (len(tasks) - done)
            self.say(f"{task.name}: {done} of {len(tasks)}" + (f", about {left:.0f} s left" if left else ""))
        return answers, failures

    def one(self, task: Task) -> Answer:
        """Performs a task."""
        answers, failures = self.all([task])
        for failure in failures.values():
            raise failure
        return answers[task.name]

    def _submit(self, task: Task) -> Any:
        task.tries += 1
        key = f"{task.name}-{task.tries}-{time.monotonic_ns()}"
        return self.client.submit(perform, task.command, key=key, retries=0)


def _figures(answer: Answer) -> Answer:
    kept = ("seconds", "cpu_seconds", "bytes", "was_there", "process")
    return {key: answer[key] for key in kept if key in answer}


def in_parts(
    farm: Farm, program: str, inputs: list[str], output: str, parts: int, options: list[str], keep: bool
) -> Answer:
    """One cache in parts: planned, made, joined. The program's words on the joined file."""
    folder = Path(f"{output}.farm")
    folder.mkdir(parents=True, exist_ok=True)
    plan, of = folder / "plan", folder / "of.json"
    wanted = json.dumps({"inputs": [_state(path) for path in inputs], "options": options})
    planned = of.is_file() and of.read_text() == wanted and plan.is_file()
    if not planned:
        farm.one(Task("plan", [program, "plan", *inputs, "-o", str(plan), *options]))
        of.write_text(wanted)
    made = [folder / f"{number}.part" for number in range(1, parts + 1)]
    tasks = [
        Task(f"part {number}", [program, "part", str(plan), f"{number}/{parts}", "-o", str(part), "--jobs", "1"])
        for number, part in enumerate(made, 1)
    ]
    _, failures = farm.all(tasks)
    for name, failure in failures.items():
        raise Failed(failure.kind, f"{name}: {failure}")
    source = [] if "--no-verify" in options else ["--source", *inputs, *_points(options)]
    joined = farm.one(Task("join", [program, "join", *map(str, made), *source, "-o", str(output)]))
    if not keep:
        shutil.rmtree(folder)
    return joined


def _points(options: list[str]) -> list[str]:
    """The point cache of an .obj, which goes with the inputs wherever they are opened."""
    for at, option in enumerate(options):
        if option == "--points":
            return options[at : at + 2]
        if option.startswith("--points="):
            return [option]
    return []


def _state(path: str) -> list[str | int]:
    """What tells a file from another one of its name, as far as it can be looked at."""
    try:
        found = os.stat(path)
        return [path, found.st_size, found.st_mtime_ns]
    except OSError:
        return [path]


def each(farm: Farm, program: str, inputs: list[str], folder: str, options: list[str]) -> dict[str, Failed]:
    """Each input for itself: those that did not work."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    command = [program, "compile", "-o", str(folder), "--changed-only", *options]
    tasks = [Task(path, [*command, path]) for path in inputs]
    return farm.all(tasks)[1]


@contextlib.contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    if scheduler:
        with Client(scheduler) as client:
            yield client
        return
    # One task at a time in each: what a task takes can be told, and one that is killed takes no other with it.
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _arguments(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    options: list[str] = []
    if "--" in given:
        at = given.index("--")
        given, options = given[:at], list(given[at + 1 :])
    parser = argparse.ArgumentParser(
        prog="python -m meshreel.farm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("inputs", nargs="+", metavar="IN")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.reel|FOLDER/")
    parser.add_argument("--parts", type=int, metavar="N", help="one cache, in so many parts")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler; without, processes of this machine")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="processes of this machine")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="how often a task is done again (3)")
    parser.add_argument("--program", default="meshreel", help="the program, as workers find it (meshreel)")
    parser.add_argument("--keep", action="store_true", help="keeps the plan and the parts")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, also when something fails")
    parser.add_argument("--quiet", action="store_true", help="errors only")
    wanted = parser.parse_args(given)
    if wanted.parts is not None and wanted.parts < 1:
        parser.error("--parts: at least 1")
    if wanted.parts is None and not wanted.output.endswith(("/", os.sep)) and not Path(wanted.output).is_dir():
        parser.error("-o names a file: say in how many --parts it is made, or name a folder (FOLDER/)")
    return wanted, options


def main(given: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 where something failed, 2 of wrong usage."""
    wanted, options = _arguments(sys.argv[1:] if given is None else given)
    start = time.monotonic()

    def say(text: str) -> None:
        if not wanted.quiet:
            print(text, file=sys.stderr, flush=True)

    try:
        import distributed  # noqa: F401
    except ImportError:
        print("error: Dask is missing: pip install 'meshreel[farm]'", file=sys.stderr)
        return 1
    result: Answer = {}
    error: Failed | OSError | None = None
    with _client(wanted.scheduler, wanted.workers) as client:
        farm = Farm(client, wanted.retries, say)
        try:
            if wanted.parts is None:
                failures = each(farm, wanted.program, wanted.inputs, wanted.output, options)
                for name, failure in failures.items():
                    error = error or failure
                    print(f"error: {name}: {failure}", file=sys.stderr)
                say(f"{len(wanted.inputs) - len(failures)} of {len(wanted.inputs)} compiled")
            else:
                result = in_parts(
                    farm, wanted.program, wanted.inputs, wanted.output, wanted.parts, options, wanted.keep
                )
                say(f"{wanted.output}: {result['bytes']} bytes")
        except (Failed, OSError) as failure:
            error = failure
            kept = "; finished parts are kept, the same command goes on" if wanted.parts else ""
            print(f"error: {failure}{kept}", file=sys.stderr)
        tasks = farm.report
    seconds = time.monotonic() - start
    used = sum(task.get("cpu_seconds", 0) for task in tasks)
    say(f"{seconds:.1f} s, {used:.1f} s of processors in {len(tasks)} tasks")
    if wanted.json:
        said = {"seconds": seconds, "cpu_seconds": used, "tasks": tasks}
        if error:
            said["error"] = {"class": getattr(error, "kind", "io"), "what": str(error)}
        print(json.dumps({**result, **said}))
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
