#!/usr/bin/env python3
"""The pages of `tessera report`, in Debian's Chromium.

  report_test.py TESSERA      makes runs, their pages, and looks at them as a reader would

Pages must show the numbers of result.json, ask for nothing outside themselves, say nothing on the
console, take names for text whatever they hold, fit a phone, and work by keyboard alone.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
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
    tessera("train", "--env", "cooperative_navigation", "--agents", "3", "--episodes", "30", "--out", folder / "train")
    (folder / "study.yaml").write_text(STUDY)
    tessera("study", folder / "study.yaml", "--out", folder / "study")
    for kind in ["compare", "cooptimize", "train", "study"]:
      tessera("report", folder / kind, "--out", folder / f"{kind}.html")
    cls.pages = ["a/report.html", "both.html", "maestro.html", "compare.html", "cooptimize.html", "train.html",
                 "study.html"]
    tessera("report", folder / "a")
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
    self.check_quiet(opened)

  def test_pages_of_maestro(self):
    opened = self.open("maestro.html")
    self.assertRegex(opened.page.inner_text("section.layer"), "limits? it")
    self.check_quiet(opened)

  def test_pages_of_other_kinds(self):
    for kind, wanted in [("compare", "lowest median"), ("cooptimize", "inferences per second"), ("train", "team return"),
                         ("study", "2 of 2 units are done")]:
      opened = self.open(f"{kind}.html")
      self.assertIn(wanted, opened.page.inner_text("main"))
      self.assertGreaterEqual(opened.page.locator("figure canvas, figure svg").count(), 1)
      self.check_quiet(opened)
    result = json.loads((self.folder / "cooptimize/result.json").read_text())
    self.assertIn(f"{result['cycles']:,}", self.open("cooptimize.html").page.inner_text("main"))

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


if __name__ == "__main__":
  unittest.main()
