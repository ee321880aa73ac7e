"""The terminal program under load: echo of keys, answer to Ctrl-C, what the front end itself costs.

SPDX-License-Identifier: Apache-2.0

usage: terminal_latency.py LONGLEAF MODEL [KEYS [STOPS]]    LONGLEAF: the binary (.libs/longleaf in a build folder)
A real pseudo-terminal; the model writes without end with two threads. A key is one that no answer contains, and
its echo is the moment its bytes come back. Beside it, byte by byte, `cat` on a terminal of its own echoes a key: what
the machine's scheduling costs a program that does nothing. JSON with LL_JSON=1.
"""
import fcntl
import json
import os
import pty
import random
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time

PROGRAM, MODEL = sys.argv[1:3]
KEYS = int(sys.argv[3]) if len(sys.argv) > 3 else 300
STOPS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
ENGINE = {"ll-work", "ll-compute"}  # threads that compute; all others are the front end's
TICK = os.sysconf("SC_CLK_TCK")


class Terminal:
    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)
        self.seen = b""

    def send(self, text):
        data = text.encode()
        while data:
            _, writable, _ = select.select([self.fd], [self.fd], [], 60)
            self.take(0)
            if writable:
                data = data[os.write(self.fd, data[:1024]):]

    def take(self, seconds):
        """What comes within so many seconds."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 1 << 16)
            except OSError:
                sys.exit("the program ended:\n" + self.seen[-2000:].decode(errors="replace"))

    def wait(self, text, seconds=120):
        """Seconds until the text has come."""
        wanted, began = text.encode(), time.monotonic()
        while wanted not in self.seen:
            left = began + seconds - time.monotonic()
            if left < 0:
                sys.exit(f"no {text!r} in {seconds} s:\n" + self.seen[-2000:].decode(errors="replace"))
            self.take(min(left, 1))
        return time.monotonic() - began

    def forget(self):
        self.take(0)
        self.seen = b""

    def idle(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.take(left)
        self.seen = b""

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def threads(pid):
    """Seconds of processor time by thread: {(id, name): seconds}."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            stat = open(f"/proc/{pid}/task/{task}/stat").read()
            # nanoseconds where the kernel tells them: ticks of 10 ms are too coarse for a thread that sleeps
            schedstat = open(f"/proc/{pid}/task/{task}/schedstat").read().split()
        except OSError:
            continue
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2:].split()
        ticks = (int(fields[11]) + int(fields[12])) / TICK
        found[int(task), name] = int(schedstat[0]) / 1e9 if int(schedstat[0]) else ticks
    return found


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def chat(folder):
    os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", XDG_STATE_HOME=folder, XDG_RUNTIME_DIR=folder)
    terminal = Terminal(PROGRAM, "chat", "-m", MODEL, "--threads", "2", "--private", "--no-loop-guard", "--no-log",
                        "--logit-bias", "2=-inf", "--logit-bias", "0=-inf")
    terminal.wait("/help lists")
    terminal.wait("\033[?2004h")
    return terminal


def begin_writing(terminal):
    terminal.forget()
    terminal.send("Write a very long story about a lighthouse.\r")
    terminal.wait("writing, ")


def measure_keys(terminal, control):
    """Echo of keys in milliseconds, those of the program and those of cat, turn by turn."""
    echo, plain = [], []
    for i in range(KEYS):
        if i % 40 == 0:
            terminal.send("\x15")
            terminal.idle(0.2)
        key = chr(0x4E00 + i)
        terminal.idle(random.uniform(0.03, 0.12))
        terminal.send(key)
        echo.append(1000 * terminal.wait(key))
        control.forget()
        control.send("x")
        plain.append(1000 * control.wait("x"))
    terminal.send("\x15")
    return echo, plain


def measure_stops(terminal, prefill):
    """Seconds from Ctrl-C to the sentence that the work has stopped, under which the prompt stands again."""
    took = []
    for i in range(STOPS):
        terminal.forget()
        if prefill:
            words = " ".join(random.choice("lamp oil keeper step sea storm ship glass".split()) for _ in range(5000))
            terminal.send(f"\033[200~{words}\033[201~")
            terminal.wait("tokens]")
            terminal.send("\r")
            terminal.wait("reading the prompt")
        else:
            begin_writing(terminal)
        terminal.idle(random.uniform(0.3, 1.0))
        terminal.send("\x03")
        took.append(terminal.wait("the message is taken back" if prefill else "the text so far is kept"))
        terminal.idle(0.5)
        if not prefill:
            terminal.send("/reset\r")
            terminal.idle(0.5)
    return took


def measure():
    with tempfile.TemporaryDirectory() as folder:
        load_before = os.getloadavg()[0]
        control = Terminal("sh", "-c", "stty raw -echo; exec cat")
        control.idle(0.5)
        terminal = chat(folder)
        begin_writing(terminal)
        before = threads(terminal.pid)
        echo, plain = measure_keys(terminal, control)
        after = threads(terminal.pid)
        # Apart from the keys: an answer that only streams.
        terminal.idle(5)
        streamed = threads(terminal.pid)
        terminal.send("\x03")
        terminal.wait("the text so far is kept")
        terminal.send("/reset\r")
        terminal.idle(1)
        decode = measure_stops(terminal, False)
        prefill = measure_stops(terminal, True)
        terminal.close()
        control.close()

    def share(first, last):
        spent = {key: last[key] - first.get(key, 0) for key in last}
        whole = sum(spent.values())
        return sum(s for (_, name), s in spent.items() if name not in ENGINE) / whole, spent

    if not any(name == "ll-work" for _, name in after):
        sys.exit("no thread is named ll-work: another program than this bench knows")
    typing, _ = share(before, after)
    streaming, spent = share(after, streamed)
    return {
        "keys": KEYS, "load": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "echo_ms": {"p50": statistics.median(echo), "p99": quantile(echo, 0.99), "max": max(echo)},
        "cat_ms": {"p50": statistics.median(plain), "p99": quantile(plain, 0.99), "max": max(plain)},
        "stop_decode_s": {"median": statistics.median(decode), "max": max(decode)},
        "stop_prefill_s": {"median": statistics.median(prefill), "max": max(prefill)},
        "front_end_typing": typing, "front_end_streaming": streaming,
        "threads": {f"{name} {task}": round(s, 4) for (task, name), s in spent.items()},
    }


def main():
    result = measure()
    if os.environ.get("LL_JSON"):
        print(json.dumps(result))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            print(f"{name:22}", ", ".join(f"{k} {v:.4g}" for k, v in value.items()))
        else:
            print(f"{name:22}", f"{value:.2%}" if isinstance(value, float) else value)


main()
