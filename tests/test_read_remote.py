"""Sources behind URLs: a local web server and fsspec's file system in memory."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchharmony.cli import main
from benchharmony.errors import InputError
from benchharmony.readers import read_sources, remote
from harness_logs import RESULTS, SAMPLES, rows_2025, write_json, write_lines

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

TABLE = b"id,correct,subject\na,1,sea\nb,0,sea\nc,1,sky\nd,1,sky\n"
SECRET = "s3cr3t-w0rd"


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder; some paths misbehave, and every GET is counted."""

    protocol_version = "HTTP/1.1"
    got: list[str] = []  # noqa: RUF012 (one list for all requests is meant)
    tags = True

    def end_headers(self):
        if self.tags and Path(self.translate_path(self.path)).is_file():
            data = Path(self.translate_path(self.path)).read_bytes()
            self.send_header("ETag", hashlib.sha256(data).hexdigest()[:16])
        super().end_headers()

    def do_HEAD(self):
        if not self._refused():
            super().do_HEAD()

    def do_GET(self):
        self.got.append(self.path.partition("?")[0])
        if not self._refused():
            super().do_GET()

    def _refused(self):
        if "forbidden" in self.path or ("locked" in self.path and not self._has_password()):
            self.send_error(403 if "forbidden" in self.path else 401)
            return True
        if "broken" in self.path:
            self.send_error(500)
            return True
        if "short" in self.path:  # says more than it gives
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(TABLE)
            self.close_connection = True
            return True
        return False

    def _has_password(self):
        told = self.headers.get("Authorization", "")
        return told == "Basic " + base64.b64encode(f"owl:{SECRET}".encode()).decode()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    handler = functools.partial(_Handler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """Return the folder that fetched files are kept in."""
    monkeypatch.setenv(remote.FOLDER_VARIABLE, str(tmp_path / "kept"))
    _Handler.got.clear()
    _Handler.tags = True
    return tmp_path / "kept"


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    for path in system.find("/"):
        system.rm(path)


def copies(kept: Path) -> list[Path]:
    return sorted(p for p in kept.rglob("*") if p.is_file() and p.name != ".fetched.json")


def test_a_file_of_a_web_server_is_read_and_called_by_its_address(served, kept):
    folder, host = served
    (folder / "planets.csv").write_bytes(TABLE)
    url = f"http://{host}/planets.csv"
    result = read_sources([url])
    (found,) = result.evaluations
    assert found.scores.tolist() == [1, 0, 1, 1]
    assert found.benchmark == "planets"
    assert found.source.files == (url,)
    assert "fetched 1 of 1 files" in result.notes[0]
    assert [p.name for p in copies(kept)] == ["planets.csv"]


def test_what_has_not_changed_is_not_fetched_again(served, kept):
    folder, host = served
    (folder / "again.csv").write_bytes(TABLE)
    url = f"http://{host}/again.csv"
    read_sources([url])
    assert read_sources([url]).notes == ()
    assert _Handler.got == ["/again.csv"]
    (folder / "again.csv").write_bytes(TABLE.replace(b"b,0", b"b,1"))  # as long as before
    assert read_sources([url]).evaluations[0].scores.tolist() == [1, 1, 1, 1]
    assert _Handler.got == ["/again.csv"] * 2


def test_without_a_tag_everything_is_fetched_again(served):
    folder, host = served
    _Handler.tags = False
    (folder / "untagged.csv").write_bytes(TABLE)
    for _ in range(2):
        read_sources([f"http://{host}/untagged.csv"])
    assert _Handler.got == ["/untagged.csv"] * 2


def test_a_folder_is_read_with_the_companions_of_its_logs(served):
    folder, host = served
    write_lines(folder / "runs" / "owl" / SAMPLES, rows_2025())
    results = {"results": {"planets": {}}, "versions": {}, "model_name": "owl-7b"}
    write_json(folder / "runs" / "owl" / RESULTS, results)
    (folder / "runs" / "table.csv").write_bytes(TABLE)
    (folder / "runs" / "README.md").write_text("nothing")
    result = read_sources([f"http://{host}/runs/"])
    assert sorted(e.model for e in result.evaluations) == ["owl-7b", "unknown"]
    log = next(e for e in result.evaluations if e.model == "owl-7b")
    assert set(log.source.files) == {
        f"http://{host}/runs/owl/{SAMPLES}",
        f"http://{host}/runs/owl/{RESULTS}",
    }
    assert result.unused == ()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone.csv", "no such file or directory (404)"),
        ("forbidden.csv", "access denied"),
        ("locked.csv", "access denied"),
        ("broken.csv", "the server answers 500"),
        ("short.csv", "cannot be fetched"),
    ],
)
def test_what_cannot_be_fetched_says_why_and_leaves_nothing(served, kept, path, reason):
    _, host = served
    with pytest.raises(InputError) as error:
        read_sources([f"http://owl:wrong-{SECRET}@{host}/{path}?token={SECRET}"])
    assert str(error.value).startswith(f"http://{host}/{path}: ")
    assert reason in str(error.value)
    assert SECRET not in str(error.value)
    assert copies(kept) == []


def test_a_server_that_is_not_there_says_so(capsys):
    assert main(["check", f"http://127.0.0.1:9/a.csv?token={SECRET}"]) == 2
    told = capsys.readouterr().err
    assert "http://127.0.0.1:9/a.csv: cannot be fetched" in told
    assert SECRET not in told
    assert told.count("\n") == 1


def test_credentials_are_used_and_never_shown(served, kept, capsys, tmp_path):
    folder, host = served
    rows = [f"{i},{i % 2},{'ab'[i // 20]}" for i in range(40)]
    (folder / "locked.csv").write_text("\n".join(["id,correct,subject", *rows, "x,,a", ""]))
    url = f"http://owl:{SECRET}@{host}/locked.csv?sig={SECRET}"
    out = tmp_path / "report.json"
    assert main(["check", url]) == 0
    assert main(["report", url, "--bootstrap", "0", "--permutations", "0", "--format", "json",
                 "-o", str(out)]) == 0  # fmt: skip
    (record,) = json.loads(out.read_text())["evaluations"]
    assert record["source"]["files"] == [f"http://{host}/locked.csv"]
    shown = "".join([*capsys.readouterr(), out.read_text(), *map(str, copies(kept))])
    shown += "".join(p.read_text() for p in kept.rglob(".fetched.json"))
    assert SECRET not in shown
    assert "owl" not in shown


def test_other_file_systems_give_files_folders_and_globs(memory):
    memory.pipe("/runs/a.csv", TABLE)
    memory.pipe("/runs/deep/b.csv", TABLE.replace(b"a,1", b"a,0"))
    memory.pipe("/runs/deep/.hidden/c.csv", TABLE)
    memory.pipe("/runs/deep/picture.png", b"no log")
    for source, names in (
        ("memory://runs", ["a", "b"]),
        ("memory://runs/deep/", ["b"]),
        ("memory://runs/deep/b.csv", ["b"]),
        ("memory://runs/**/b*", ["b"]),
    ):
        result = read_sources([source])
        assert [e.benchmark for e in result.evaluations] == names
        assert all(e.source.files[0].startswith("memory://runs/") for e in result.evaluations)
        assert result.unused == ()


def test_files_that_are_gone_are_forgotten(memory, kept):
    memory.pipe("/runs/a.csv", TABLE)
    memory.pipe("/runs/b.csv", TABLE.replace(b"a,1", b"a,0"))
    assert len(read_sources(["memory://runs"]).evaluations) == 2
    memory.rm("/runs/a.csv")
    assert len(read_sources(["memory://runs"]).evaluations) == 1
    assert [p.name for p in copies(kept)] == ["b.csv"]


def test_problems_name_the_address(memory):
    memory.pipe("/bad/a.csv", b"id,correct\na,1\nb,\n")
    memory.pipe("/bad/b.csv", b"nothing,here\n1,2\n")
    result = read_sources(["memory://bad"])
    assert result.evaluations[0].source.problems[0].path == "memory://bad/a.csv"
    assert result.unused[0].path == "memory://bad/b.csv"


@pytest.mark.parametrize("path", ["/../../up.csv", "/a/../../../up.csv", "/" + "x" * 300 + ".csv"])
def test_no_name_leads_out_of_the_folder(kept, path):
    where = kept / remote._local_name(path)
    assert kept.resolve() in where.resolve().parents
    assert len(where.name) <= 255
    assert where.suffix == ".csv"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@h/a?b=c#d", "https://h/a"),
        ("s3://bucket/key", "s3://bucket/key"),
        ("zip://in.csv::https://u:p@h/a.zip?t=1", "zip://in.csv::https://h/a.zip"),
        ("https://h/a@b", "https://h/a@b"),
    ],
)
def test_addresses_are_shown_without_credentials(url, shown):
    assert remote.shown_url(url) == shown


def test_missing_packages_and_unknown_protocols_say_what_to_do(monkeypatch):
    with pytest.raises(InputError, match="Protocol not known: owl"):
        read_sources(["owl://nest/egg.csv"])
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(InputError, match="pip install s3fs"):
        read_sources(["s3://nest/egg.csv"])
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(InputError, match=r"pip install 'benchharmony\[remote\]'"):
        read_sources(["https://nest/egg.csv"])


def test_files_here_may_have_names_like_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bbq::all.csv").write_bytes(TABLE)
    (found,) = read_sources(["bbq::all.csv"]).evaluations
    assert found.source.files == ("bbq::all.csv",)
    with pytest.raises(InputError, match="cannot be fetched"):
        read_sources([f"http://127.0.0.1:9/{'x' * 5000}.csv"])


def test_local_files_have_urls_too(tmp_path):
    (tmp_path / "a b.csv").write_bytes(TABLE)
    (found,) = read_sources([(tmp_path / "a b.csv").as_uri()]).evaluations
    assert found.source.files == (str(tmp_path / "a b.csv"),)
    with pytest.raises(InputError, match="no such file"):
        read_sources([(tmp_path / "gone.csv").as_uri()])
