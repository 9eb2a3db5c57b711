"""One cache by many processes: the drivers for Dask, Open Job Description and Slurm, with workers that are killed, full
disks and wrong inputs. Run by tests/farm.sh."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "testdata/inputs"
FLAG = INPUTS / "a_flag_wind.abc"
PROGRAM = os.environ["MESHREEL_CLI"]
DRIVER = ROOT / "bindings/python/python/meshreel/farm.py"


def program(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """What one machine makes of the flag."""
    made = tmp_path_factory.mktemp("alone") / "flag.reel"
    program("compile", FLAG, "-o", made, "--quiet")
    return made.read_bytes()


def drive(*arguments, code=0, own=PROGRAM):
    command = [sys.executable, str(DRIVER), *map(str, arguments[:])]
    at = command.index("--") if "--" in command else len(command)
    command[at:at] = ["--program", str(own), "--workers", "2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if done.stdout else None, done.stderr


def wrapper(folder, text):
    """A program that does something before it is meshreel."""
    path = folder / "wrapper"
    path.write_text(f"#!/usr/bin/env bash\n{text}\nexec {shlex.quote(PROGRAM)} \"$@\"\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_parts_make_the_file_of_one_machine(alone, tmp_path):
    out = tmp_path / "flag.reel"
    said, _ = drive(FLAG, "-o", out, "--parts", 4)
    assert out.read_bytes() == alone
    assert [path.name for path in tmp_path.iterdir()] == ["flag.reel"]
    names = sorted(task["task"] for task in said["tasks"])
    assert names == ["join", "part 1", "part 2", "part 3", "part 4", "plan"]
    assert said["bytes"] == len(alone) and said["cpu_seconds"] > 0


def test_options_of_compile(tmp_path):
    out, own = tmp_path / "a.reel", tmp_path / "own.reel"
    drive(FLAG, "-o", out, "--parts", 2, "--", "--tolerance", "1%", "--preset", "fast")
    program("compile", FLAG, "-o", own, "--tolerance", "1%", "--preset", "fast", "--quiet")
    assert out.read_bytes() == own.read_bytes()


def test_killed_workers_and_programs(alone, tmp_path):
    out = tmp_path / "flag.reel"
    # The first time that a part is made its program is killed, of part 2 its worker, too.
    own = wrapper(
        tmp_path,
        f'''if [ "$1" = part ] && mkdir {tmp_path}/seen-"${{3%/*}}" 2>/dev/null; then
    [ "${{3%/*}}" = 2 ] && kill -9 $PPID
    kill -9 $$
fi''',
    )
    said, errors = drive(FLAG, "-o", out, "--parts", 3, own=own)
    assert out.read_bytes() == alone
    assert "again" in errors
    assert max(task["tries"] for task in said["tasks"]) >= 2


def test_too_many_failures_end_it_and_the_next_run_goes_on(alone, tmp_path):
    out = tmp_path / "flag.reel"
    own = wrapper(tmp_path, '[ "$1 ${3%/*}" = "part 3" ] && kill -9 $$')
    said, errors = drive(FLAG, "-o", out, "--parts", 3, "--retries", 1, own=own, code=1)
    assert said["error"]["class"] == "killed" and "part 3" in errors
    assert not out.exists()
    said, _ = drive(FLAG, "-o", out, "--parts", 3)
    assert out.read_bytes() == alone
    there = {task["task"]: task.get("was_there") for task in said["tasks"]}
    assert there["part 1"] and there["part 2"] and not there["part 3"] and "plan" not in there


@pytest.mark.skipif(os.geteuid() != 0, reason="small disks are mounted by root only")
def test_a_full_disk(alone, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip("no disk could be mounted")
    try:
        out = disk / "flag.reel"
        said, errors = drive(FLAG, "-o", out, "--parts", 3, "--retries", 1, code=1)
        assert said["error"]["class"] == "io" and not out.exists()
        assert "No space left" in errors
        left = [path.name for path in disk.rglob("*") if path.name.endswith(".tmp")]
        assert left == []
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        drive(FLAG, "-o", out, "--parts", 3)
        assert out.read_bytes() == alone
    finally:
        subprocess.run(["umount", disk])


def test_a_wrong_input_is_one_error_and_is_not_tried_again(tmp_path):
    damaged = tmp_path / "damaged.abc"
    damaged.write_bytes(FLAG.read_bytes()[:5000])
    said, errors = drive(damaged, "-o", tmp_path / "a.reel", "--parts", 2, code=1)
    assert said["error"]["class"] == "malformed" and "again" not in errors
    assert len(said["tasks"]) == 1 and not (tmp_path / "a.reel").exists()
    drive(tmp_path / "none.abc", "-o", tmp_path / "a.reel", "--parts", 2, "--retries", 0, code=1)


def test_each_input_for_itself(tmp_path):
    damaged = tmp_path / "damaged.abc"
    damaged.write_bytes(FLAG.read_bytes()[:5000])
    good = [INPUTS / "m_scale_shear.abc", INPUTS / "n_robot_bone_parented.abc", INPUTS / "g_scene_attributes.abc"]
    said, errors = drive(*good, damaged, "-o", f"{tmp_path}/out/", code=1)
    made = sorted(path.name for path in (tmp_path / "out").glob("*.reel"))
    assert made == sorted(path.with_suffix(".reel").name for path in good)
    assert "damaged.abc" in errors and len(said["tasks"]) == 4


def test_a_run_that_is_ended_leaves_no_process(tmp_path):
    out = tmp_path / "flag.reel"
    own = wrapper(tmp_path, f'[ "$1" = part ] && {{ echo $$ >> {tmp_path}/processes; exec sleep 600; }}')
    command = [sys.executable, str(DRIVER), str(FLAG), "-o", str(out), "--parts", "2", "--program", str(own)]
    run = subprocess.Popen([*command, "--workers", "2"], stderr=subprocess.DEVNULL, start_new_session=True)
    numbers = tmp_path / "processes"
    while not numbers.exists() or len(numbers.read_text().split()) < 2:
        assert run.poll() is None
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)
    run.wait()
    for number in numbers.read_text().split():
        while Path(f"/proc/{number}").exists():
            if "Z" in Path(f"/proc/{number}/stat").read_text().split()[2]:
                break
            time.sleep(0.1)
    assert not out.exists()


def test_wrong_usage(tmp_path):
    drive(FLAG, "-o", tmp_path / "a.reel", code=2)
    drive(FLAG, "-o", tmp_path / "a.reel", "--parts", 0, code=2)


def test_a_program_that_is_not_there(tmp_path):
    said, errors = drive(FLAG, "-o", tmp_path / "a.reel", "--parts", 2, own=tmp_path / "none", code=1)
    assert said["error"]["class"] == "misuse" and "--program" in errors
    assert not (tmp_path / "a.reel").exists()


def test_open_job_description(alone, tmp_path):
    template = ROOT / "integrations/farm/openjd.yaml"
    openjd = Path(sys.executable).with_name("openjd")
    subprocess.run([openjd, "check", template], check=True, stdout=subprocess.DEVNULL)
    # As the manual has it: names of the folder where it is submitted.
    here = tmp_path / "a folder"
    here.mkdir()
    (here / "flag.abc").symlink_to(FLAG)
    out = here / "flag.reel"
    values = {"Input": "flag.abc", "Output": "flag.reel", "Parts": 3, "Program": PROGRAM, "Options": "--quiet"}
    given = [word for name, value in values.items() for word in ("-p", f"{name}={value}")]
    done = subprocess.run([openjd, "run", template, *given], capture_output=True, text=True, cwd=here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert out.read_bytes() == alone
    assert sorted(path.name for path in here.iterdir()) == ["flag.abc", "flag.reel"]


SBATCH = """#!/usr/bin/env bash
# Runs what is submitted, one after the other, as Slurm would.
array=
for word in "$@"; do
    case $word in
    --array=*) array=${word#--array=} ;;
    --wrap=*) wrap=${word#--wrap=} ;;
    esac
done
if [ -n "$array" ]; then
    for ((i = ${array%-*}; i <= ${array#*-}; i++)); do SLURM_ARRAY_TASK_ID=$i bash -c "$wrap" >&2 || exit 1; done
else
    bash -c "$wrap" >&2 || exit 1
fi
echo 7
"""


def test_slurm(alone, tmp_path):
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    sbatch = bin_folder / "sbatch"
    sbatch.write_text(SBATCH)
    sbatch.chmod(0o755)
    folder = tmp_path / "a folder"
    folder.mkdir()
    out = folder / "flag's.reel"
    script = ROOT / "integrations/farm/slurm.sh"
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "MESHREEL": PROGRAM}
    subprocess.run([script, "3", out, FLAG], check=True, env=environment)
    assert out.read_bytes() == alone
    assert [path.name for path in folder.iterdir()] == [out.name]
