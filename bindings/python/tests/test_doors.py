"""Compiling, checking and taking back; what goes wrong, and what is cancelled."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from threading import Event, Thread

import meshreel
import pytest

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def test_there_and_back(inputs, tmp_path):
    source, reel, back = inputs / "a_flag_wind.abc", tmp_path / "flag.reel", tmp_path / "back.abc"
    report = meshreel.compile(source, reel, effort=1)
    assert report["written"] and report["file_bytes"] == reel.stat().st_size
    assert report["output"] == str(reel) and report["source_bytes"] == source.stat().st_size
    checked = meshreel.verify([source], reel)
    assert checked["ok"] and checked["failures"] == [] and checked["meshes"]
    extracted = meshreel.extract(reel, back)
    assert extracted["kind"] == "alembic" and extracted["bytes"] == back.stat().st_size
    info = [meshreel.info(path) for path in (source, reel, back)]
    assert [i["kind"] for i in info] == ["alembic-ogawa", "reel", "alembic-ogawa"]
    assert len({i["frames"] for i in info}) == 1 and info[0]["frames"] == report["frames"]
    assert [mesh["path"] for mesh in info[1]["meshes"]] == [mesh["path"] for mesh in report["meshes"]]


def test_the_command_line_writes_the_same(inputs, tmp_path, program):
    for name, words, options in [
        ("a_flag_wind.abc", ["--effort", "1", "--lod", "1"], {"effort": 1, "lod": 1}),
        ("prism.glb", ["--tolerance", "0.1%", "--strip"], {"tolerance": "0.1%", "strip": True}),
        ("g_scene_attributes.abc", ["--exclude", "/a", "--exclude", "/b"], {"exclude": ["/a", "/b"]}),
    ]:
        source, theirs, ours = inputs / name, tmp_path / f"theirs-{name}.reel", tmp_path / f"ours-{name}.reel"
        run = subprocess.run([program, "compile", source, "-o", theirs, "--json", *words], capture_output=True)
        assert run.returncode == 0, run.stderr
        report = meshreel.compile(source, ours, **options)
        assert ours.read_bytes() == theirs.read_bytes(), name
        said = json.loads(run.stdout)
        assert said["file_bytes"] == report["file_bytes"] and said["remarks"] == report["remarks"]
        for end in ("abc", "glb"):
            theirs_back, ours_back = tmp_path / f"theirs.{end}", tmp_path / f"ours.{end}"
            subprocess.run([program, "extract", theirs, "-o", theirs_back, "--quiet"], check=True)
            meshreel.extract(ours, ours_back)
            assert ours_back.read_bytes() == theirs_back.read_bytes(), (name, end)


def test_a_compile_ends_with_a_verification(inputs, tmp_path):
    source, reel = inputs / "a_flag_wind.abc", tmp_path / "flag.reel"
    phases = []
    report = meshreel.compile(source, reel, effort=1, progress=lambda phase, done, total: phases.append(phase))
    assert report["verify"]["ok"] and report["verify"]["cured"] == [] and phases[-1] == "verify"
    assert 0 < report["verify"]["worst"] <= 1
    assert not meshreel.info(reel)["no_verify"]
    report = meshreel.compile(source, reel, effort=1, no_verify=True)
    assert report["verify"] is None and meshreel.info(reel)["no_verify"]


def test_several_inputs_are_one_scene(tmp_path):
    for name in ("a", "b"):
        # Of one shape they would be one mesh.
        shape = TRIANGLE.replace("1 0 0", "1 0 0" if name == "a" else "2 0 0")
        (tmp_path / f"{name}.obj").write_text(f"o {name}\n{shape}")
    meshreel.compile([tmp_path / "a.obj", tmp_path / "b.obj"], tmp_path / "both.reel")
    meshreel.compile(tmp_path / "?.obj", tmp_path / "glob.reel")
    with meshreel.open(tmp_path / "both.reel") as reel:
        assert [mesh.path for mesh in reel.meshes] == ["/a", "/b"]
    assert (tmp_path / "glob.reel").read_bytes() == (tmp_path / "both.reel").read_bytes()


def test_an_options_file_lies_under_the_call(tmp_path):
    source, file, reel = tmp_path / "a.obj", tmp_path / "o.toml", tmp_path / "a.reel"
    source.write_text(TRIANGLE)
    file.write_text('tolerance = "1%"\nnormal-tolerance = 3\n')
    meshreel.compile(source, reel, options_file=file, tolerance="2%")
    options = dict(meshreel.info(reel)["options"])
    assert options["tolerance"] == "0.02*diagonal" and float(options["normal-tolerance"]) == 3


def test_info_is_the_command_lines(inputs, made, program):
    for path in (made("prism.glb"), made("a_flag_wind.abc"), inputs / "g_scene_attributes.abc"):
        for words, options in (([], {}), (["--streams", "--frames"], {"streams": True, "frames": True})):
            run = subprocess.run([program, "info", path, "--json", *words], capture_output=True)
            assert run.returncode == 0, run.stderr
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", meshreel.RemarkWarning)
                ours = meshreel.info(path, **options)
            assert {"remarks": [], **json.loads(run.stdout)} == ours


def test_a_promise_that_does_not_hold_is_reported(tmp_path):
    source, other, reel = tmp_path / "a.obj", tmp_path / "b.obj", tmp_path / "a.reel"
    source.write_text(TRIANGLE)
    other.write_text(TRIANGLE.replace("1 0 0", "9 0 0"))
    meshreel.compile(source, reel)
    report = meshreel.verify(other, reel)
    assert not report["ok"] and report["failures"]


def test_remarks_are_warnings_of_the_line_that_called(inputs, tmp_path):
    source = tmp_path / "a.obj"
    source.write_text(TRIANGLE + "f 1 2 9\n")
    with pytest.warns(meshreel.RemarkWarning) as warned:
        report = meshreel.compile(source, tmp_path / "a.reel")
    assert len(warned) == len(report["remarks"]) > 0
    assert warned[0].filename == __file__ and report["remarks"][0]["what"] in str(warned[0].message)
    with pytest.raises(meshreel.Error, match="--strict") as raised:
        meshreel.compile(source, tmp_path / "strict.reel", strict=True)
    assert type(raised.value) is meshreel.Error and raised.value.remarks
    assert not (tmp_path / "strict.reel").exists()


def bad(tmp_path, inputs):
    """A call for each class, with what it would have written."""
    good, reel, out = tmp_path / "good.obj", tmp_path / "good.reel", tmp_path / "out.reel"
    good.write_text(TRIANGLE)
    meshreel.compile(good, reel)
    broken, damaged, usd = tmp_path / "broken.abc", tmp_path / "damaged.reel", tmp_path / "a.other"
    broken.write_bytes((inputs / "a_flag_wind.abc").read_bytes()[:5000])
    damaged.write_bytes(reel.read_bytes()[:-7])
    usd.write_text("x")
    # An accessor without bytes is zeros, of which this one has far too many.
    huge = tmp_path / "huge.gltf"
    accessor = {"componentType": 5126, "count": 4_000_000_000, "type": "VEC3"}
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    scene = {"nodes": [{"mesh": 0}], "scenes": [{"nodes": [0]}], "scene": 0}
    huge.write_text(json.dumps({"asset": {"version": "2.0"}, "accessors": [accessor], "meshes": [mesh], **scene}))
    yield meshreel.IoError, lambda: meshreel.compile(tmp_path / "none.abc", out), "none.abc"
    yield meshreel.IoError, lambda: meshreel.compile(good, tmp_path / "none" / "out.reel"), "none"
    yield meshreel.IoError, lambda: meshreel.open(tmp_path / "none.reel"), "none.reel"
    yield meshreel.MalformedError, lambda: meshreel.compile(broken, out), "broken.abc"
    yield meshreel.MalformedError, lambda: meshreel.open(damaged), "damaged.reel"
    yield meshreel.MalformedError, lambda: meshreel.open(good), "good.obj"
    yield meshreel.MalformedError, lambda: meshreel.extract(damaged, tmp_path / "out.abc"), "damaged.reel"
    yield meshreel.MalformedError, lambda: meshreel.verify(good, damaged), "damaged.reel"
    yield meshreel.MalformedError, lambda: meshreel.info(damaged), "damaged.reel"
    yield meshreel.UnsupportedError, lambda: meshreel.compile(usd, out), "a.other"
    yield meshreel.UnsupportedError, lambda: meshreel.extract(reel, tmp_path / "out.bvh"), "no clip"
    yield meshreel.LimitError, lambda: meshreel.compile(huge, out), "huge.gltf"
    yield meshreel.MisuseError, lambda: meshreel.compile(good, out, tolerence=1), "'tolerence' is no option"
    yield meshreel.MisuseError, lambda: meshreel.compile(good, out, effort=12), "effort = '12'"
    yield meshreel.MisuseError, lambda: meshreel.compile(good, out, effort=[1, 2]), "effort takes one value"
    yield meshreel.MisuseError, lambda: meshreel.compile([], out), "at least one input"
    yield meshreel.MisuseError, lambda: meshreel.compile(good, good), "good.obj"
    both = {"strip": True, "short_source_map": True}
    yield meshreel.MisuseError, lambda: meshreel.compile(good, out, **both), "cannot be used with"
    yield meshreel.MisuseError, lambda: meshreel.extract(reel, tmp_path / "out.txt"), "out.txt"
    yield meshreel.MisuseError, lambda: meshreel.extract(reel, tmp_path / "out.abc", lod=3), "--lod 3"
    yield meshreel.MisuseError, lambda: meshreel.extract(reel, tmp_path / "out.abc", bones="x"), "bones: 'x'"
    yield meshreel.MisuseError, lambda: meshreel.verify(good, good), "good.obj"
    yield meshreel.MisuseError, lambda: meshreel.verify(good, reel, source_fps=0), "source_fps"


def test_bad_input_is_one_error_of_its_class(tmp_path, inputs):
    seen = set()
    calls = list(bad(tmp_path, inputs))
    before = sorted(os.listdir(tmp_path))
    for kind, call, word in calls:
        with pytest.raises(meshreel.Error) as raised:
            call()
        assert type(raised.value) is kind and word in str(raised.value), (kind, str(raised.value))
        assert "\n" not in str(raised.value)
        assert sorted(os.listdir(tmp_path)) == before, word
        seen.add(kind)
    assert len(seen) == 5
    with pytest.raises(meshreel.IoError) as raised:
        meshreel.open(tmp_path / "none.reel")
    assert raised.value.path == str(tmp_path / "none.reel") and raised.value.remarks == []


def test_an_io_error_is_the_systems(inputs, tmp_path):
    for call in (
        lambda: meshreel.open(tmp_path / "none.reel"),
        lambda: meshreel.info(tmp_path / "none.abc"),
        lambda: meshreel.compile(tmp_path / "none.abc", tmp_path / "a.reel"),
        lambda: meshreel.compile(inputs / "prism.glb", tmp_path / "none" / "a.reel"),
    ):
        with pytest.raises(OSError, match="none") as raised:
            call()
        error = raised.value
        assert isinstance(error, meshreel.IoError) and error.errno == errno.ENOENT
        assert error.filename == error.path and error.strerror in str(error)
    with pytest.raises(meshreel.IoError) as raised:
        meshreel.open(tmp_path)
    assert raised.value.errno == errno.EISDIR


def test_a_string_where_a_list_is_meant(made):
    with meshreel.open(made("a_flag_wind.abc")) as reel:
        said = r"channels is a list, such as \['normals', 'uvs'\], not 'normals'"
        for call in (lambda: reel.frame(0, "normals"), lambda: reel.at(0, channels="normals")):
            with pytest.raises(meshreel.MisuseError, match=said):
                call()
        for meshes in ("0", 0, ["0"], [-1]):
            with pytest.raises(meshreel.MisuseError, match=r"meshes is a list, such as \[0, 2\], not "):
                reel.frame(0, meshes=meshes)


def test_progress_tells_of_all_phases(inputs, tmp_path):
    told = []
    meshreel.compile(inputs / "a_flag_wind.abc", tmp_path / "a.reel", effort=1, progress=lambda *step: told.append(step))
    phases = list(dict.fromkeys(phase for phase, _, _ in told))
    assert phases[0] == "open" and {"analyse", "encode", "verify"} <= set(phases)
    assert all(0 <= done <= total or total == 0 for _, done, total in told)
    assert ends_at_all(told)
    told.clear()
    meshreel.verify(inputs / "a_flag_wind.abc", tmp_path / "a.reel", progress=lambda *step: told.append(step))
    assert "verify frames" in {phase for phase, _, _ in told} and ends_at_all(told)
    told.clear()
    meshreel.extract(tmp_path / "a.reel", tmp_path / "a.glb", progress=lambda *step: told.append(step))
    assert told and ends_at_all(told)


def ends_at_all(told):
    """Whether the last step was that all is done."""
    _, done, total = told[-1]
    return done == total > 0


@pytest.mark.parametrize("phase", ["open", "analyse", "encode", "verify"])
@pytest.mark.parametrize("old", [False, True])
def test_a_callback_cancels(inputs, tmp_path, phase, old):
    reel = tmp_path / "a.reel"
    if old:
        reel.write_text("old")
    with pytest.raises(meshreel.Cancelled):
        meshreel.compile(inputs / "a_flag_wind.abc", reel, effort=1, progress=lambda now, *_: now != phase)
    assert os.listdir(tmp_path) == ([reel.name] if old else [])
    assert not old or reel.read_text() == "old"


def test_what_a_callback_raises_comes_out(inputs, tmp_path):
    def progress(phase, done, total):
        raise ZeroDivisionError(phase)

    with pytest.raises(ZeroDivisionError, match="open"):
        meshreel.compile(inputs / "a_flag_wind.abc", tmp_path / "a.reel", progress=progress)
    assert os.listdir(tmp_path) == []


def test_textures_and_compressed_files(made, tmp_path):
    reel = made("a_flag_wind.abc")
    told = meshreel.extract(reel, f"{tmp_path}/flag_vat/", format="openvat", normals="separate")
    assert told["kind"] == "openvat" and told["openvat"]["error"] < 1e-3
    assert (tmp_path / "flag_vat" / "flag_vnrm.png").exists()
    told = meshreel.extract(reel, tmp_path / "flag.glb", compress="meshopt")
    assert told["compressed"]["share"] <= 1.0
    with pytest.raises(meshreel.UnsupportedError, match="16 bits hold"):
        meshreel.extract(reel, f"{tmp_path}/again/", format="openvat", tolerance=1e-9)


def test_a_callback_ends_verify_and_extract(inputs, made, tmp_path):
    reel = made("a_flag_wind.abc")
    with pytest.raises(meshreel.Cancelled):
        meshreel.verify(inputs / "a_flag_wind.abc", reel, progress=lambda phase, *_: phase != "verify frames")
    with pytest.raises(meshreel.Cancelled):
        meshreel.extract(reel, tmp_path / "a.abc", progress=lambda *_: False)
    assert os.listdir(tmp_path) == []


def test_other_threads_run_while_it_compiles(inputs, tmp_path):
    compiling, ticks = Event(), []

    def tick():
        while not compiling.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    meshreel.compile(inputs / "a_flag_wind.abc", tmp_path / "a.reel", effort=1)
    end = time.monotonic()
    compiling.set()
    thread.join()
    assert len([t for t in ticks if begin <= t <= end]) > 3


# A shell ignores the signal in what it runs in the background, and so do its children unless they say otherwise.
LISTENS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

INTERRUPTED = LISTENS + """
import sys, meshreel
def progress(phase, done, total):
    if phase == sys.argv[3]:
        print(phase, flush=True)
try:
    meshreel.compile(sys.argv[1], sys.argv[2], effort=9, progress=progress if sys.argv[4] else None)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("phase", ["analyse", "search"])
def test_ctrl_c_ends_a_compile_and_leaves_no_file(inputs, tmp_path, phase):
    words = [sys.executable, "-c", INTERRUPTED, inputs / "d_snake_skinned.abc", tmp_path / "a.reel", phase, "told"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == phase
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.read().split()
        print(f"ended {time.monotonic() - sent:.2f} s after the signal")
        assert process.wait() == 0 and said[-1] == "interrupted"
    assert os.listdir(tmp_path) == []


def test_ctrl_c_is_seen_without_a_callback(inputs, tmp_path):
    words = [sys.executable, "-c", INTERRUPTED, inputs / "d_snake_skinned.abc", tmp_path / "a.reel", "", ""]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        while not any(name.endswith(".tmp") for name in os.listdir(tmp_path)):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().split() == ["interrupted"] and process.wait() == 0
    assert os.listdir(tmp_path) == []


CHECKED = LISTENS + """
import sys, meshreel
try:
    print("begins", flush=True)
    getattr(meshreel, sys.argv[1])(*sys.argv[2:])
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("what", ["verify", "extract"])
def test_ctrl_c_ends_verify_and_extract(inputs, made, tmp_path, what):
    source, reel = inputs / "d_snake_skinned.abc", made("d_snake_skinned.abc")
    given = [source, reel] if what == "verify" else [reel, tmp_path / "back.abc"]
    words = [sys.executable, "-c", CHECKED, what, *given]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "begins"
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.read().split()
        print(f"ended {time.monotonic() - sent:.2f} s after the signal")
        assert process.wait() == 0
    # On a fast machine it can be done before, or between the last look at the signal and the end.
    assert said in (["interrupted"], ["done"])
    left = os.listdir(tmp_path)
    if what == "extract" and (left or said == ["done"]):
        assert left == ["back.abc"]
        meshreel.extract(reel, tmp_path / "whole.abc")
        assert (tmp_path / "back.abc").read_bytes() == (tmp_path / "whole.abc").read_bytes()
    else:
        assert left == []
