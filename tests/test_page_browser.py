"""The pages in a real browser: what they do, on any width, by keyboard, and what they never do."""

import re

import pytest

import benchharmony as bh
from benchharmony.page import landscape_page, rebalance_page, validation_page, write_page
from pages import FLAGS, QUICK, browser_path, hostile_evaluation, planted_page_evaluation
from test_page import VALIDATION

# Skips where there is no playwright or no Chromium.
PATH = browser_path()
from playwright.sync_api import expect, sync_playwright  # noqa: E402


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as p:
        made = p.chromium.launch(executable_path=PATH, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write every kind of page once."""
    folder = tmp_path_factory.mktemp("pages")
    grid = [
        planted_page_evaluation(f"Qwen2.5-{size}B", b, seed=10 * i + j, items=80 + 40 * i)
        for i, b in enumerate(("first", "second"))
        for j, size in enumerate((1, 3, 7))
    ]
    landscape = bh.landscape(grid, partition="declared:subject", bootstrap=60, repeats=3)
    one = planted_page_evaluation(items=160).take([i for i in range(160) if i % 4 == 0 or i < 80])
    from benchharmony.rebalance import rebalance
    from benchharmony.rebalancing.result import document

    pruned = rebalance(one, bh.partition(one, "declared:subject"), draws=50, permutations=200)
    hostile = [hostile_evaluation(), hostile_evaluation("b")]
    pages = {
        "report": bh.report(grid, k=4, **QUICK).to_html(command="benchharmony report logs"),
        "single": bh.report(planted_page_evaluation(items=200), k=4, **QUICK).to_html(),
        "hostile": bh.report(hostile, partition="declared:subject", **QUICK).to_html(),
        "landscape": landscape_page(landscape),
        "rebalance": rebalance_page(document([pruned])),
        "validation": validation_page(VALIDATION),
    }
    for name, page in pages.items():
        write_page(page, folder / f"{name}.html")
    return folder


@pytest.fixture
def show(browser, files):
    """Return a function that opens a page, and fail on what a page must never do."""
    contexts, bad, asked = [], [], []

    def opened(name, width=1400, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: bad.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: bad.append(str(e)))
        page.on("request", lambda r: asked.append(r.url))
        page.on("dialog", lambda d: (bad.append(f"dialog {d.message}"), d.dismiss()))
        page.goto((files / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert bad == []
    assert [u for u in asked if not u.startswith(("file:", "data:image/png"))] == []
    assert sum(u.startswith("file:") for u in asked) == len(contexts)


KINDS = ["report", "single", "hostile", "landscape", "rebalance", "validation"]


def shown_rows(page):
    return page.locator("#overview tbody tr:not([hidden])")


def first_cells(page, column):
    return page.locator(
        f"#overview tbody tr:not([hidden]) > :nth-child({column})"
    ).all_inner_texts()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [400, 1400])
def test_no_page_scrolls_sideways(show, kind, width):
    page = show(kind, width)
    for details in page.locator("details").all():
        details.evaluate("d => { d.open = true; }")
    page.wait_for_timeout(150)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault_of_accessibility(show, kind, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # The checker puts its own script into the page, which the page's policy forbids.
    page = show(kind, color_scheme=scheme, bypass_csp=True)
    # Of several evaluations the first is enough: they are made alike.
    page.evaluate(
        "document.querySelectorAll('details:not(ol *)').forEach("
        "d => { if (!d.matches('.evaluation ~ .evaluation')) d.open = true; })"
    )
    page.wait_for_timeout(200)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (v["id"], v["impact"], [n["html"][:200] for n in v["nodes"][:3]])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_column_sorts_both_ways_and_says_so(show):
    page = show("report")
    button = page.get_by_role("button", name="Score", exact=True).first
    button.click()
    scores = [float(t.split()[0]) for t in first_cells(page, 4)]
    assert scores == sorted(scores, reverse=True)
    head = page.locator("#overview th").nth(3)
    assert head.get_attribute("aria-sort") == "descending"
    button.click()
    assert [float(t.split()[0]) for t in first_cells(page, 4)] == sorted(scores)
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Model", exact=True).first.click()
    names = first_cells(page, 2)
    assert names == sorted(names)
    assert head.get_attribute("aria-sort") is None


def test_filters_choose_rows_and_sections_together(show):
    page = show("report")
    assert shown_rows(page).count() == 6
    page.fill("#f-text", "3b")
    expect(page.locator("#f-count")).to_have_text("2 of 6 shown")
    assert first_cells(page, 2) == ["Qwen2.5-3B", "Qwen2.5-3B"]
    assert page.locator("details.evaluation:not([hidden])").count() == 2
    page.select_option("#f-b", label="second")
    expect(page.locator("#f-count")).to_have_text("1 of 6 shown")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#f-count")).to_have_text("")
    assert shown_rows(page).count() == 6
    assert page.locator("details.evaluation:not([hidden])").count() == 6


def test_a_point_of_the_plane_filters_what_is_below(show):
    page = show("report")
    page.locator(".on-wide svg [data-link='benchmark:1']").click()
    assert set(first_cells(page, 1)) == {"second"}
    assert page.locator("details.evaluation:not([hidden])").count() == 3
    assert page.input_value("#f-b") == "1"
    page.locator(".on-wide svg [data-link='benchmark:1']").click()
    assert shown_rows(page).count() == 6


def test_a_point_of_the_landscape_opens_its_benchmark(show):
    page = show("landscape")
    page.locator(".on-wide svg [data-link='benchmark:0']").click()
    assert first_cells(page, 1) == ["first"]
    assert page.locator("#e0").get_attribute("open") is not None
    assert page.locator("#e1").is_hidden()


def test_a_bar_chooses_the_items_of_its_subdomain(show):
    page = show("single")
    page.wait_for_selector("ol.items li")
    assert page.inner_text(".browse [role=status]") == "200 of 200 items"
    bar = page.locator(".on-wide svg [data-link='subdomain:2']").first
    bar.dispatch_event("click")
    assert page.inner_text(".browse [role=status]") == "50 of 200 items"
    labels = set(page.locator("ol.items summary small").all_inner_texts())
    assert len(labels) == 1
    assert labels.pop().startswith("S3")
    assert page.locator("table.subdomains tr.chosen th").count() == 1
    bar.dispatch_event("click")
    assert page.inner_text(".browse [role=status]") == "200 of 200 items"


def test_items_are_searched_filtered_and_opened(show):
    page = show("single")
    page.wait_for_selector("ol.items li")
    page.get_by_label("Find in items").fill("question 17 about")
    expect(page.locator(".browse [role=status]")).to_have_text("1 of 200 items")
    entry = page.locator("ol.items li").first
    assert entry.locator("mark").first.inner_text() == "Question 17 about"
    entry.locator("summary").click()
    expect(entry).to_contain_text("\u2190 key")  # filled when the toggle event comes
    expect(entry).to_contain_text("subject: botany")
    page.get_by_label("Find in items").fill("")
    page.get_by_label("Answered").select_option("wrong")
    wrong = int((planted_page_evaluation(items=200).scores == 0).sum())
    expect(page.locator(".browse [role=status]")).to_have_text(f"{wrong} of 200 items")
    badges = page.locator("ol.items .badge").all_inner_texts()
    assert badges
    assert all("wrong" in b for b in badges)


def test_a_long_list_comes_a_page_at_a_time_and_keeps_the_focus(show):
    page = show("single")
    page.wait_for_selector("ol.items li")
    assert page.locator("ol.items > li").count() == 25
    page.get_by_role("button", name="Show more").press("Enter")
    assert page.locator("ol.items > li").count() == 50
    here = page.evaluate(
        "[...document.querySelectorAll('ol.items > li')].indexOf("
        "document.activeElement.closest('li'))"
    )
    assert here == 25


def test_the_map_answers_the_pointer_and_changes_its_colours(show):
    page = show("single")
    canvas = page.locator(".map canvas").first
    canvas.scroll_into_view_if_needed()
    drawn = "c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; " \
        "const s = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 150) " \
        "s.add(`${d[i] >> 4},${d[i + 1] >> 4},${d[i + 2] >> 4}`); return s.size; }"  # fmt: skip
    assert canvas.evaluate(drawn) >= 4
    page.get_by_label("Colour by").select_option("right or wrong")
    words = page.locator(".legend li").all_inner_texts()
    assert words == ["right", "wrong"]
    # Somewhere on the map there is an item.
    box = canvas.bounding_box()
    at = page.evaluate("() => { const m = maps.values().next().value; return m.place(0); }")
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    assert "item-" in page.inner_text("#tip")
    page.mouse.click(box["x"] + at[0], box["y"] + at[1])
    assert page.locator("ol.items > li").first.locator("details").get_attribute("open") is not None


def test_a_mark_says_what_it_is_when_pointed_at(show):
    page = show("single")
    page.locator(".on-wide svg [data-link='subdomain:0']").first.hover(force=True)
    assert re.search(r"subdomain|score", page.inner_text("#tip"))


def test_everything_is_reached_by_keyboard(show):
    page = show("report", 1400)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        names.append(page.evaluate(
            "document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)"
        ))  # fmt: skip
    assert {"f-text", "f-b", "f-m", "f-answer", "Show all", "Score"} <= set(names)
    summary = page.locator("details.evaluation summary").first
    summary.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#e0 ol.items li")
    subdomain = page.locator("#e0 button.plain").first
    subdomain.focus()
    page.keyboard.press("Enter")
    assert page.locator("#e0 tr.chosen").count() == 1


def test_a_link_opens_the_evaluation_it_leads_to(show):
    page = show("report")
    page.locator("#overview a").nth(4).click()
    assert page.locator("#e4").get_attribute("open") is not None
    page.wait_for_selector("#e4 ol.items li")


def test_the_theme_follows_the_reader_and_can_be_changed(show):
    page = show("single", color_scheme="dark")
    back = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('svg .f-ink')).fill"
    dark, dark_ink = page.evaluate(back), page.evaluate(ink)
    page.locator("#theme").click()
    assert page.evaluate(back) == "rgb(255, 255, 255)"
    assert dark != "rgb(255, 255, 255)"
    assert page.evaluate(ink) != dark_ink
    light = show("single", color_scheme="light")
    assert light.evaluate(back) == "rgb(255, 255, 255)"


def test_without_a_script_there_are_tables_and_pictures(show):
    page = show("report", java_script_enabled=False)
    assert page.locator("#overview tbody tr").count() == 6
    assert page.locator("section[aria-labelledby=plane] .on-wide svg").is_visible()
    assert page.locator("#filters").is_hidden()
    page.locator("details.evaluation summary").first.click()
    section = page.locator("#e0")
    assert section.locator("table.subdomains").first.is_visible()
    assert section.locator(".draw svg").first.is_visible()
    assert section.locator(".still svg, .still img").first.is_visible()
    assert "needs JavaScript" in section.inner_text()


def test_a_short_report_prints_whole(show):
    page = show("report")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.evaluation:not([open])").count() == 0
    page.emulate_media(media="print")
    assert page.locator("#filters").is_hidden()
    assert page.locator("#e0 .still").is_visible()
    assert page.locator("#e0 table.subdomains").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.evaluation[open]").count() == 0


def test_hostile_texts_run_nothing_and_are_shown_as_they_are(show):
    page = show("hostile")
    for details in page.locator("details").all():
        details.evaluate("d => { d.open = true; }")
    page.wait_for_selector("ol.items li")
    for entry in page.locator("ol.items details").all():
        entry.evaluate("d => { d.open = true; }")
    page.get_by_label("Find in items").first.fill("<script>")
    expect(page.locator("ol.items mark").first).to_have_text("<script>")
    for mark in page.locator("svg [data-tip]").all()[:12]:
        mark.dispatch_event("pointermove", {"clientX": 50, "clientY": 50})
    assert page.evaluate("window.hacked") is None
    assert "<script>window.hacked=1</script>" in page.inner_text("h1")


@pytest.mark.slow
def test_a_page_of_14000_items_stays_under_15_mb_and_answers(browser, tmp_path):
    e = planted_page_evaluation(items=14_000)
    long = bh.Evaluation.from_arrays(
        benchmark="long", model="m", scores=e.scores, groups=dict(e.groups), gold=e.gold,
        texts=[f"{t} {'and so on ' * 150}" for t in e.texts],
        choices=[[f"option {i} {'words ' * 40}" for i in range(4)]] * len(e),
    )  # fmt: skip
    path = tmp_path / "long.html"
    bh.report(long, **QUICK).to_html(path)
    assert path.stat().st_size < 15_000_000
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("ol.items li")
    page.get_by_label("Find in items").fill("question 13999 about")
    expect(page.locator(".browse [role=status]")).to_have_text("1 of 14,000 items")
    page.close()


def test_the_policy_stops_a_script_that_got_into_the_page(browser, files, tmp_path):
    """The second wall: were something not escaped, it would not run."""
    page_text = (files / "single.html").read_text(encoding="utf-8")
    bad = tmp_path / "bad.html"
    evil = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
    bad.write_text(page_text.replace("</main>", f"{evil}</main>"), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(bad.as_uri())
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    context.close()
