"""The pages as files: whole, closed to the network, escaped, and readable without anything else."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import benchharmony as bh
from benchharmony import Evaluation, verdict
from benchharmony.cli import main
from benchharmony.landscape import words
from benchharmony.page import items, landscape_page, over_models, rebalance_page, validation_page
from benchharmony.page.pictures import Drawer
from benchharmony.page.words import isolated
from benchharmony.plots.parts import parts_spec
from benchharmony.rebalance import rebalance
from benchharmony.rebalancing.result import document
from benchharmony.report import Report
from pages import HOSTILE, QUICK, hostile_evaluation, planted_page_evaluation


class Elements(HTMLParser):
    """Collects elements, attributes, and what stands in scripts and styles."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.inside, self.texts = [], [], [], []
        self.within = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.within = (tag, dict(attrs))

    def handle_data(self, data):
        if self.within and self.within[0] in ("script", "style"):
            self.inside.append((*self.within, data))
        else:
            self.texts.append(data)

    def handle_endtag(self, tag):
        self.within = None

    def blobs(self):
        return {
            a["id"]: json.loads(d)
            for tag, a, d in self.inside
            if tag == "script" and a.get("type") == "application/json"
        }

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def report():
    made = [planted_page_evaluation(f"model {i}", seed=i) for i in range(3)]
    return bh.report(made, **QUICK)


@pytest.fixture(scope="module")
def page(report):
    return report.to_html(command="benchharmony report logs --k 4")


@pytest.fixture(scope="module")
def landscape():
    made = [
        planted_page_evaluation(f"Qwen2.5-{size}B", benchmark, seed=i)
        for benchmark in ("first", "second")
        for i, size in enumerate((1, 3, 7))
    ]
    return bh.landscape(made, partition="declared:subject", bootstrap=60, repeats=3)


@pytest.fixture(scope="module")
def rebalanced():
    e = planted_page_evaluation(items=160)
    e = e.take([i for i in range(160) if i % 4 == 0 or i < 80])  # algebra: twice as many
    made = rebalance(e, bh.partition(e, "declared:subject"), draws=50, permutations=200)
    return document([made])


@pytest.fixture(scope="module")
def pages(page, landscape, rebalanced):
    return {
        "report": page,
        "landscape": landscape_page(landscape),
        "rebalance": rebalance_page(rebalanced),
        "validation": validation_page(VALIDATION),
    }


VALIDATION = {
    "schema": "benchharmony/validation/1", "version": "1", "settings": {"seed": 0},
    "cases": [
        {
            "benchmark": HOSTILE[0], "model": HOSTILE[1], "n_items": 3, "declared": HOSTILE[2],
            "n_declared": 2, "positions": ["item"], "notes": [HOSTILE[3]], "not_computed": [],
            "similarities": [
                {
                    "name": HOSTILE[4], "ranking": None, "domains_chosen": None,
                    "domains": {"ari": 0.5, "ami": 0.4, "random_ami": 0.0},
                }
            ],
        }
    ],
}  # fmt: skip


def hashed(text):
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@pytest.mark.parametrize("kind", ["report", "landscape", "rebalance", "validation"])
def test_a_page_allows_its_own_script_and_style_and_nothing_else(pages, kind):
    found = Elements(pages[kind])
    policy = next(v for t, n, v in found.attributes if t == "meta" and "default-src" in (v or ""))
    (script,) = [d for t, a, d in found.inside if t == "script" and "type" not in a]
    (style,) = [d for t, a, d in found.inside if t == "style"]
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src '{hashed(script)}'" in policy
    assert f"style-src '{hashed(style)}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:", policy)


@pytest.mark.parametrize("kind", ["report", "landscape", "rebalance", "validation"])
def test_a_page_refers_to_nothing_outside_itself(pages, kind):
    found = Elements(pages[kind])
    for tag, name, value in found.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name != "style", tag  # the policy would drop it
        if name in ("src", "href", "srcset", "data", "action", "poster"):
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value)
    assert not {"link", "iframe", "object", "embed", "base", "foreignobject"} & set(found.tags)
    css = "".join(d for t, _, d in found.inside if t == "style")
    assert "url(" not in css
    assert "@import" not in css


def test_links_inside_a_page_lead_somewhere(page):
    found = Elements(page)
    ids = [v for _, n, v in found.attributes if n == "id"]
    assert len(ids) == len(set(ids))
    links = {v[1:] for _, n, v in found.attributes if n == "href" and v.startswith("#")}
    assert links
    assert links <= set(ids)
    referred = set(re.findall(r"url\(#([\w-]+)\)", page))
    assert referred <= set(ids)


def test_the_report_says_what_was_measured_and_gives_every_number(page, report):
    text = Elements(page).text
    assert "3 models (model 0, model 1 and model 2) on 1 benchmark (planted)" in text
    for e in report.record["evaluations"]:
        assert f"{e['score']['mean']:.3f}" in text
        assert f"{e['harmony']['adjusted']:.3f}" in text
        assert e["verdict"]["sentence"][:60] in text
        for s in e["subdomains"]:
            assert f"{s['score']:.3f}" in text
    assert "benchharmony report logs --k 4" in text
    assert "HARMONY does not show contamination" in text


def test_the_items_of_a_report_are_nearest_to_the_centre_first(page, report):
    blobs = Elements(page).blobs()
    made = report.splits[1]
    data = blobs["items-1"]
    first = [r for r, label in zip(data["row"], data["label"], strict=True) if label == 0]
    near = made.partition.centrality[first]
    assert (np.diff(near) <= 0).all()
    assert sorted(data["row"]) == list(range(120))
    assert [data["score"][data["row"].index(i)] for i in range(120)] == list(made.evaluation.scores)
    texts = blobs[data["set"]]
    assert texts["text"][7] == "Question 7 about dance and its rules?"
    assert texts["options"][7] == ["alpha", "beta", "gamma 7"]
    assert data["declared"]["names"] == ["algebra", "botany", "cooking", "dance"]
    assert len(data["at"]["x"]) == 120


def test_models_on_the_same_items_share_their_texts(page):
    blobs = Elements(page).blobs()
    golds = {n: b["gold"] for n, b in blobs.items() if n.startswith("set-")}
    assert len(golds) == 3  # the planted ones differ in their keys
    same = planted_page_evaluation("a"), planted_page_evaluation("b")
    one = Elements(bh.report(same, **QUICK).to_html()).blobs()
    assert [n for n in one if n.startswith("set-")] == ["set-0"]


def test_a_report_from_the_record_alone_has_tables_and_no_items(report):
    found = Elements(Report(report.record).to_html())
    assert found.blobs() == {}
    assert f"{report.record['evaluations'][0]['harmony']['adjusted']:.3f}" in found.text


def test_hostile_texts_are_texts_wherever_they_stand():
    e = hostile_evaluation()
    made = bh.report([e, hostile_evaluation("b")], partition="declared:subject", **QUICK)
    made.record["evaluations"][0]["warnings"] += [*HOSTILE, "lone \udc00"]
    page = made.to_html(command=HOSTILE[2])
    page.encode()
    found = Elements(page)
    assert found.tags.count("script") == 1 + len(found.blobs())
    assert "onerror" not in {n for _, n, _ in found.attributes}
    assert found.tags.count("img") == sum(
        1 for t, n, v in found.attributes if t == "img" and n == "src" and v.startswith("data:")
    )
    assert "\u202e" not in page
    assert "49" not in re.findall(r"\{\{ 7 \* 7 \}\}|49(?= \$)", page)
    shown = found.text
    for text in HOSTILE[:3]:
        assert text in shown
    texts = found.blobs()["set-0"]["text"]
    assert texts[0].endswith("[cut: 1,000,000 characters in all]")
    assert "\ufffd" in texts[1]


def test_a_name_written_from_right_to_left_turns_only_itself():
    assert isolated("mmlu") == "mmlu"
    assert (
        isolated("\u0645\u0631\u062d\u0628\u0627") == "\u2068\u0645\u0631\u062d\u0628\u0627\u2069"
    )
    assert isolated("a\u202eb") == "a[U+202E]b"


def test_hostile_names_are_texts_on_the_other_pages(pages):
    found = Elements(pages["validation"])
    assert HOSTILE[0] in found.text
    assert HOSTILE[3] in found.text
    assert found.tags.count("script") == 1


def test_drawings_carry_no_markup_of_their_own():
    pytest.importorskip("vl_convert")
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": [{"a": t, "b": i} for i, t in enumerate(HOSTILE)]},
        "mark": "bar",
        "encoding": {
            "x": {"field": "b", "type": "quantitative"},
            "y": {"field": "a", "type": "nominal"},
        },
    }
    found = Elements(str(Drawer().draw(spec, HOSTILE[2]).markup))
    assert set(found.tags) <= {"svg", "g", "path", "rect", "line", "text", "defs", "clippath"}
    assert not [v for _, n, v in found.attributes if n.endswith("href") or n.startswith("on")]


def test_marks_are_linked_to_what_they_stand_for(page, report):
    found = Elements(page)
    links = [v for t, n, v in found.attributes if n == "data-link" and t in ("path", "rect")]
    assert {"evaluation:0", "evaluation:1", "evaluation:2"} <= set(links)
    k = report.record["evaluations"][0]["partition"]["k"]
    assert {f"subdomain:{i}" for i in range(k)} <= set(links)


def test_without_the_plots_extra_there_are_tables_and_a_word_on_pictures(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    found = Elements(report.to_html())
    assert "svg" not in found.tags
    assert "pip install 'benchharmony[plots]'" in found.text
    assert f"{report.record['evaluations'][0]['harmony']['adjusted']:.3f}" in found.text


@pytest.mark.parametrize(("parts", "role", "drawn"), [
    (1, "more", True), (41, "more", False), (41, "main", True), (201, "main", False),
    (201, "page", True),
])  # fmt: skip
def test_pictures_are_rationed_by_the_number_of_parts(parts, role, drawn):
    pytest.importorskip("vl_convert")
    drawer = Drawer(parts)
    assert drawer.draws(role) is drawn
    assert (drawer.why_not is None) is (parts <= 40)


def test_undefined_evaluations_have_their_row_and_their_reason():
    short = Evaluation.from_arrays(benchmark="tiny", model="m", scores=[1.0, 0.0, 1.0])
    made = bh.report([short, planted_page_evaluation()], **QUICK)
    text = Elements(made.to_html()).text
    assert "HARMONY is undefined" in text
    assert "fewer than 20 items" in text


def test_long_texts_share_the_room_of_a_page(monkeypatch):
    monkeypatch.setattr(items, "BUDGET", 50_000)
    e = planted_page_evaluation()
    long = Evaluation.from_arrays(
        benchmark="long", model="m", scores=e.scores, predictive=dict(e.predictive),
        texts=["word " * 1000] * len(e),
    )  # fmt: skip
    found = Elements(bh.report(long, k=4, **QUICK).to_html())
    texts = found.blobs()["set-0"]["text"]
    assert sum(map(len, texts)) < 60_000
    assert all("cut: 5,000 characters" in t for t in texts)


def test_options_and_marks_that_take_more_room_count_too(monkeypatch):
    monkeypatch.setattr(items, "BUDGET", 250_000)
    e = planted_page_evaluation()
    wide = Evaluation.from_arrays(
        benchmark="wide", model="m", scores=e.scores, groups=dict(e.groups),
        texts=["<" * 300] * len(e), choices=[["\u4e00" * 200] * 4] * len(e),
    )  # fmt: skip
    page = bh.report(wide, **QUICK).to_html()
    (data,) = re.findall(r'id="set-0">(.*?)</script>', page)
    assert len(data.encode()) < 300_000  # without cuts 500,000


def test_of_too_many_items_every_subdomain_keeps_its_nearest(monkeypatch):
    monkeypatch.setattr(items, "_MOST_ROWS", 1)  # the least is 200 items of each evaluation
    e = planted_page_evaluation(items=400)
    found = Elements(bh.report(e, partition="declared:subject", **QUICK).to_html())
    data = found.blobs()["items-0"]
    assert len(data["row"]) == 200
    assert np.bincount(data["label"]).tolist() == [50, 50, 50, 50]
    assert "200 of 400 items are in this page" in found.text


def test_a_landscape_says_why_an_average_is_not_to_be_trusted(landscape):
    found = Elements(landscape_page(landscape))
    (entry, _) = landscape.record["benchmarks"]
    assert entry["verdict"]["label"].startswith("uneven")
    assert "Do not trust the average" in found.text
    low = min(entry["subdomains"], key=lambda s: s["score"]["mean"])
    assert f"on {low['label']} (25% of the items) the models score {low['score']['mean']:.2f}" in (
        found.text
    )
    assert "all 3 lie below their own average there" in found.text


def test_subdomains_over_models_are_those_that_the_models_share(landscape):
    parts = landscape.record["benchmarks"][0]["subdomains"]
    assert [p["label"] for p in parts] == ["algebra", "botany", "cooking", "dance"]
    assert sum(p["weight"] for p in parts) == pytest.approx(1.0)
    assert all(p["score"]["min"] <= p["score"]["mean"] <= p["score"]["max"] for p in parts)
    assert parts[3]["below"] == 1.0
    assert parts[0]["below"] == 0.0
    own = bh.landscape(
        [planted_page_evaluation(f"m{i}", runs=i > 0) for i in range(2)],
        k=4, bootstrap=60, repeats=2,
    )  # fmt: skip
    assert own.record["benchmarks"][0]["subdomains"] == []
    assert parts_spec(own.record["benchmarks"][0]) is None
    assert "Each model splits the items its own way" in Elements(landscape_page(own)).text


def test_a_rebalance_page_gives_shifts_and_the_items_to_drop(rebalanced):
    found = Elements(rebalance_page(rebalanced))
    (entry,) = rebalanced["benchmarks"]
    effect = entry["models"][0]["effect"]
    assert f"{effect['before']:.3f}" in found.text
    assert f"{effect['shift']:+.3f}" in found.text
    assert entry["dropped"][0]["item_id"] in found.text


def test_a_validation_page_has_its_tables():
    found = Elements(validation_page(VALIDATION))
    assert "found by" in found.text
    assert "0.40" in found.text


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rows = [f"{i},{int(i % 4 > 0)},{'ab'[i % 2]}" for i in range(80)]
    path.write_text("item_id,score,subject\n" + "\n".join(rows))
    return path


def test_the_command_line_writes_the_page_and_says_what_made_it(table, tmp_path, capsys):
    html = tmp_path / "a folder" / "page.html"
    given = ["report", str(table), "--bootstrap", "60", "--permutations", "60", "--html", str(html)]
    assert main(given) == 0
    assert f"written: {html}" in capsys.readouterr().err
    text = Elements(html.read_text(encoding="utf-8")).text
    assert f"--bootstrap 60 --permutations 60 --html '{html}'" in text


def test_a_page_that_cannot_be_written_is_a_worded_error(table, tmp_path, capsys):
    given = ["report", str(table), "--bootstrap", "60", "--permutations", "60"]
    assert main([*given, "--html", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_landscape_and_rebalance_write_pages_too(table, tmp_path):
    html = tmp_path / "page.html"
    quick = ["--bootstrap", "60", "--quiet", "--html", str(html), "-o", str(tmp_path / "out")]
    assert main(["landscape", str(table), *quick]) == 0
    assert "Can the average of" in html.read_text(encoding="utf-8")
    more = ["--permutations", "60", "--strategy", "balance", "--keep", "random"]
    assert main(["rebalance", str(table), *quick, *more]) == 0
    assert "over-represented" in html.read_text(encoding="utf-8")


def test_one_even_and_one_uneven_model_do_not_make_a_benchmark_depend_on_the_model():
    def group(even, uneven, unclear):
        labels = [verdict.REPRESENTATIVE] * even + [verdict.UNEVEN] * uneven
        labels += [verdict.TOO_FEW] * unclear
        return over_models.together([{"verdict": {"label": label}} for label in labels])

    assert group(1, 1, 18) == group(3, 0, 17) == words.CANNOT_TELL
    assert group(5, 5, 10) == words.MIXED
    assert group(17, 1, 2) == words.REPRESENTATIVE
    assert group(0, 17, 3) == words.UNEVEN
