"""JupyterLab in a headless browser with the kernel: a person's way through a notebook, with screenshots.

SPDX-License-Identifier: Apache-2.0

usage: browser.py KERNEL NOTEBOOK_FOLDER SCREENSHOT_FOLDER
Needs JupyterLab and selenium (PyPI), chromium and chromium-driver (Debian), and the default model.
"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import tap
from tap import case

KERNEL, NOTEBOOKS, SHOTS = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
del sys.argv[1:]
HANG = 90


class Lab:
    """A server with its browser window."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        env = {**os.environ, "JUPYTER_DATA_DIR": str(self.folder / "data"), "JUPYTER_CONFIG_DIR": str(self.folder / "config"),
               "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime")}
        subprocess.run([KERNEL, "install", "--user"], env=env, check=True, stdout=subprocess.DEVNULL)
        self.work = self.folder / "work"
        shutil.copytree(NOTEBOOKS, self.work)
        self.server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={self.port}", "--IdentityProvider.token=",
             "--ServerApp.password=", "--ServerApp.allow_root=True", f"--ServerApp.root_dir={self.work}",
             "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        options = webdriver.ChromeOptions()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,900",
                     "--hide-scrollbars"):
            options.add_argument(flag)
        self.wait(lambda: urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api").status == 200)
        options.binary_location = shutil.which("chromium")
        self.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def close(self):
        self.browser.quit()
        self.server.terminate()
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()

    def wait(self, condition, seconds=HANG):
        end = time.time() + seconds
        while True:
            try:
                found = condition()
                if found:
                    return found
            except Exception:  # not there yet; the last try below tells why
                if time.time() > end:
                    raise
            assert time.time() < end, "it did not come"
            time.sleep(0.2)

    def open(self, name):
        self.browser.get(f"http://127.0.0.1:{self.port}/doc/tree/{name}?reset")
        self.wait(lambda: self.cells())
        self.wait(lambda: "Idle" in self.status() or "idle" in self.status())

    def status(self):
        return self.browser.execute_script(
            "return [...document.querySelectorAll('.jp-Notebook-ExecutionIndicator,.jp-Toolbar-kernelStatus')]"
            ".map(e => (e.dataset.status || '') + ' ' + (e.title || '')).join(' ')")

    def cells(self):
        return self.browser.find_elements(By.CSS_SELECTOR, ".jp-Notebook .jp-CodeCell")

    def outputs(self, cell):
        return self.browser.execute_script("return arguments[0].querySelector('.jp-OutputArea').innerText", cell)

    def prompt(self, cell):
        return self.browser.execute_script("return arguments[0].querySelector('.jp-InputPrompt').innerText", cell)

    def enter(self, number):
        """The text field of a cell, with the cursor in it; cells are drawn anew while a notebook is opened."""
        def try_it():
            cell = self.cells()[number]
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'start'})", cell)
            field = cell.find_element(By.CSS_SELECTOR, ".cm-content")
            field.click()
            return field
        return self.wait(try_it)

    def run(self, number):
        self.enter(number).send_keys(Keys.CONTROL, Keys.ENTER)
        self.wait(lambda: self.prompt(self.cells()[number]).strip("[]: ") != "", 20)

    def write(self, number, text):
        field = self.enter(number)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)

    def command(self, keys):
        """Keys of command mode: "ii" interrupts, "00" restarts."""
        self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.browser.switch_to.active_element.send_keys(keys)

    def is_done(self, cell):
        return self.prompt(cell).strip("[]:").isdigit()

    def shot(self, name):
        SHOTS.mkdir(exist_ok=True, parents=True)
        self.browser.execute_script("document.querySelectorAll('.Toastify').forEach(e => e.remove())")
        self.browser.save_screenshot(str(SHOTS / name))


def session():
    folder = tempfile.TemporaryDirectory(prefix="longleaf-lab-")
    return folder, Lab(folder.name)


@case
def a_notebook_is_created_from_the_launcher_and_runs_a_cell():
    folder, lab = session()
    try:
        lab.browser.get(f"http://127.0.0.1:{lab.port}/lab?reset")
        lab.wait(lambda: lab.browser.find_element(
            By.CSS_SELECTOR, ".jp-LauncherCard[data-category='Notebook'][title*='Longleaf']").click() or True)
        lab.wait(lambda: lab.cells() and "dle" in lab.status())
        lab.write(0, "%echo made here")
        lab.enter(0).send_keys(Keys.CONTROL, Keys.ENTER)
        lab.wait(lambda: "made here" in lab.outputs(lab.cells()[0]))
        assert list(lab.work.glob("Untitled*.ipynb"))
    finally:
        lab.close()
        folder.cleanup()


@case
def a_cell_streams_under_a_gauge_that_changes_and_an_interrupt_keeps_the_text():
    folder, lab = session()
    try:
        lab.open("chat.ipynb")
        lab.write(0, "%params max_tokens=400 ignore_eos=on\nTell me about lighthouses.")
        lab.enter(0).send_keys(Keys.CONTROL, Keys.ENTER)
        shown = lambda: lab.outputs(lab.cells()[0])
        seen = lab.wait(lambda: "now" in shown() and "tokens/s" in shown() and shown())
        time.sleep(1)
        lab.shot("streaming.png")
        gauge = [line for line in seen.splitlines() if "tokens/s" in line][0]
        lab.wait(lambda: gauge not in shown() and "tokens/s" in shown(), 30)
        lab.command("ii")
        lab.wait(lambda: "KeyboardInterrupt" in shown(), 30)
        assert "kept" in shown()
        lab.shot("interrupted.png")
    finally:
        lab.close()
        folder.cleanup()


@case
def a_pdf_is_summarised_cited_and_asked():
    shots = {1: "plan.png", 2: "summary.png", 4: "ask.png"}
    folder, lab = session()
    try:
        lab.open("document.ipynb")
        for number in range(6):
            lab.run(number)
            lab.wait(lambda: lab.is_done(lab.cells()[number]))
            assert "Error" not in lab.outputs(lab.cells()[number])
            if number in shots:
                lab.enter(number)
                time.sleep(1)
                lab.shot(shots[number])
            if number == 2:
                assert "Coverage" in lab.outputs(lab.cells()[2])
    finally:
        lab.close()
        folder.cleanup()


@case
def memory_is_drawn_and_a_restart_begins_anew():
    folder, lab = session()
    try:
        lab.open("memory.ipynb")
        for number in range(9):
            lab.run(number)
            lab.wait(lambda: lab.is_done(lab.cells()[number]))
            assert "Error" not in lab.outputs(lab.cells()[number])
        for number, name in ((1, "memory.png"), (3, "plans.png"), (7, "runs.png")):
            lab.wait(lambda: lab.browser.execute_script(
                "return arguments[0].querySelectorAll('.jp-RenderedSVG img, .jp-RenderedSVG svg').length",
                lab.cells()[number]))
            lab.enter(number)
            time.sleep(1)
            lab.shot(name)
        lab.command("00")
        lab.wait(lambda: [button.click() or True for button in
                          lab.browser.find_elements(By.CSS_SELECTOR, ".jp-Dialog .jp-mod-warn, .jp-Dialog .jp-mod-accept")[-1:]])
        lab.wait(lambda: not lab.browser.find_elements(By.CSS_SELECTOR, ".jp-Dialog"))
        time.sleep(2)
        lab.wait(lambda: "dle" in lab.status())
        lab.run(0)
        lab.wait(lambda: lab.is_done(lab.cells()[0]))
        assert "[1]" in lab.prompt(lab.cells()[0]), lab.prompt(lab.cells()[0])
    finally:
        lab.close()
        folder.cleanup()


if __name__ == "__main__":
    sys.exit(tap.run())
