"""The notebook kernel beside ipykernel: start, round trips, interrupts, large cells, many clients, rest.

SPDX-License-Identifier: Apache-2.0

usage: kernel_bench.py KERNEL MODEL [ROUNDS]    KERNEL: longleaf-kernel; ipykernel is started with this Python
Both kernels are measured in the same run, turn by turn; medians are shown, JSON with LL_JSON=1.
"""
import datetime
import json
import os
import pathlib
import statistics
import sys
import time

import zmq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "jupyter"))
from kernel import Kernel  # noqa: E402

PROGRAM, MODEL = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3


class Longleaf(Kernel):
    name = "longleaf"
    endless = "%params ignore_eos=on gauge=off max_tokens=100000000\ngo on"
    large = "%%echo\n"
    small = "%echo x"

    def __init__(self):
        super().__init__(PROGRAM, extra=("--model", MODEL))


class Python(Kernel):
    name = "ipykernel"
    endless = "import time\nwhile True:\n    print('x', flush=True); time.sleep(0.01)"
    large = "x = '''"
    small = "print('x')"

    def __init__(self):
        super().__init__("-m", wrap=(sys.executable,), module="ipykernel_launcher")


def timed(action):
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def client_of(kernel):
    """A client whose subscription is known to work: ipykernel greets only some subscribers, so it is asked until
    it is heard, as notebook servers do."""
    client = kernel.client(topic=b"s")
    client.iopub.setsockopt(zmq.SUBSCRIBE, b"")
    while not client.iopub.poll(0):
        assert client.ask("kernel_info_request")["status"] == "ok"
        client.iopub.poll(20)
    while client.iopub.poll(50):
        client.receive(client.iopub)
    return client


def start_to_ready(make):
    began = time.perf_counter()
    kernel = make()
    client = kernel.client(topic=b"none")
    assert client.ask("kernel_info_request")["status"] == "ok"
    ready = time.perf_counter() - began
    client.close()
    return kernel, client_of(kernel), ready


def info_round_trip(client):
    times = []
    for _ in range(200):
        header = client.send("kernel_info_request")
        times.append(timed(lambda: (client.reply(header), client.published(header))))
    return statistics.median(times)


def interrupt(kernel, client):
    header = client.start(kernel.endless)
    client.wait_for(header, "stream")
    time.sleep(0.3)
    began = time.perf_counter()
    if kernel.name == "ipykernel":
        kernel.signal()
    else:
        client.send("interrupt_request", {}, client.control)
    assert client.reply(header)["content"]["status"] == "error"
    return time.perf_counter() - began


def large_cell(kernel, client):
    end = "'''" if kernel.name == "ipykernel" else ""
    code = kernel.large + "0123456789abcde\n" * (10 * 65536) + end
    header = client.start(code)
    return timed(lambda: (client.reply(header), client.published(header)))


def many_clients(kernel):
    clients = [client_of(kernel) for _ in range(64)]
    began = time.perf_counter()
    headers = [(client, [client.start(kernel.small) for _ in range(4)]) for client in clients]
    for client, sent in headers:
        for header in sent:
            assert client.reply(header)["content"]["status"] == "ok"
    took = time.perf_counter() - began
    for client in clients:
        client.close()
    return took


def cpu_seconds(kernel):
    with open(f"/proc/{kernel.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(kernel):
    before = cpu_seconds(kernel)
    time.sleep(5)
    return (cpu_seconds(kernel) - before) / 5


def first_token(client):
    """From the moment when the engine has the first token, which the reply tells, to its text at the client."""
    times = []
    for _ in range(9):
        header = client.start("%params max_tokens=4 ignore_eos=on gauge=on\nhello")
        client.wait_for(header, "stream")
        came = time.time()
        told = client.reply(header)["metadata"]["first_token"].replace("Z", "+00:00")
        times.append(came - datetime.datetime.fromisoformat(told).timestamp())
        client.published(header)
    return max(times)


def program_bytes(client):
    """Resident bytes besides the model's weights, keys and values and scratch, as %memory accounts for them."""
    _, published = client.run("%memory")
    devices = published[-1]["content"]["data"]["application/json"]["devices"]
    return sum(device["components"]["program"]["used"] for device in devices)


def thread_seconds(kernel):
    """CPU seconds of the thread that computes, and of all others."""
    own = others = 0.0
    for task in pathlib.Path(f"/proc/{kernel.process.pid}/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if task.name == str(kernel.process.pid):
            own += seconds
        else:
            others += seconds
    return own, others


def streaming_share():
    """What all threads but the computing one take of the CPU time of a long answer under a gauge."""
    with Kernel(PROGRAM, extra=("--model", MODEL), env={"LONGLEAF_THREADS": "1"}) as kernel:
        client = client_of(kernel)
        client.run("%params ignore_eos=on max_tokens=4\nhello")
        before = thread_seconds(kernel)
        header = client.start("%params max_tokens=200\nTell me about lighthouses.")
        assert client.reply(header)["content"]["status"] == "ok"
        after = thread_seconds(kernel)
        own, others = after[0] - before[0], after[1] - before[1]
        return others / (own + others)


def measure(make):
    kernel, client, ready = start_to_ready(make)
    with kernel:
        row = {"start_to_ready_s": ready, "resident_mib": kernel.memory() / 2**20,
               "kernel_info_ms": info_round_trip(client) * 1e3, "interrupt_s": interrupt(kernel, client),
               "idle_share": idle_share(kernel), "ten_megabytes_s": large_cell(kernel, client),
               "clients_64x4_s": many_clients(kernel)}
        if kernel.name == "longleaf":
            client.run("%reset -f")
            row["first_token_ms"] = first_token(client) * 1e3
            row["program_mib"] = program_bytes(client) / 2**20
            row["streaming_share"] = streaming_share()
        return kernel.name, row


def main():
    rows = {}
    for _ in range(ROUNDS):
        for make in (Longleaf, Python):
            name, row = measure(make)
            for key, value in row.items():
                rows.setdefault(key, {}).setdefault(name, []).append(value)
    medians = {key: {name: statistics.median(values) for name, values in each.items()} for key, each in rows.items()}
    if os.environ.get("LL_JSON"):
        print(json.dumps(medians, indent=1))
        return
    print(f"{'':18} {'longleaf':>12} {'ipykernel':>12}   medians of {ROUNDS}")
    for key, each in medians.items():
        print(f"{key:18}" + "".join(f" {each[name]:12.4g}" if name in each else f" {'-':>12}" for name in ("longleaf", "ipykernel")))


if __name__ == "__main__":
    main()
