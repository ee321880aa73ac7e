"""One kernel under test and clients that speak to it in raw frames, signatures included.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import uuid

import zmq

DELIMITER = b"<IDS|MSG>"
HANG = 60  # seconds after which an answer is taken for missing; nothing is measured with it
PORTS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Kernel:
    """A running longleaf-kernel. Use as a context manager; it is killed at the end when it still lives."""

    def __init__(self, program, transport="tcp", extra=(), env=None, fields=None, wrap=None, module=None):
        self.context = zmq.Context()
        self.folder = tempfile.TemporaryDirectory(prefix="longleaf-kernel-")
        self.key = uuid.uuid4().hex.encode()
        self.info = {"transport": transport, "ip": "127.0.0.1", "key": self.key.decode(),
                     "signature_scheme": "hmac-sha256", "kernel_name": "longleaf"}
        if transport == "ipc":
            self.info["ip"] = os.path.join(self.folder.name, "k")
            self.info.update(zip(PORTS, range(1, 6)))
        else:
            self.info.update(zip(PORTS, free_ports(5)))
        self.info.update(fields or {})
        self.path = os.path.join(self.folder.name, "connection.json")
        with open(self.path, "w") as file:
            json.dump(self.info, file)
        self.curve = self.info.get("curve_publickey")
        command = [program, *([module] if module else []), "-f", self.path, *extra]
        self.process = subprocess.Popen([*wrap, *command] if wrap else command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.context.destroy(linger=0)
        self.folder.cleanup()

    def endpoint(self, port):
        if self.info["transport"] == "ipc":
            return f"ipc://{self.info['ip']}-{self.info[port]}"
        return f"tcp://{self.info['ip']}:{self.info[port]}"

    def socket(self, kind, port, identity=None, reconnects=True):
        made = self.context.socket(kind)
        made.linger = 0
        made.rcvhwm = 0
        if self.curve:
            made.curve_publickey, made.curve_secretkey = zmq.curve_keypair()
            made.curve_serverkey = self.curve.encode()
        if identity:
            made.setsockopt(zmq.IDENTITY, identity)
        if not reconnects:
            made.reconnect_ivl = -1
        made.connect(self.endpoint(port))
        return made

    def client(self, **options):
        return Client(self, **options)

    def wait(self, seconds=HANG):
        """The exit status, or None when it still runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def errors(self):
        return self.process.stderr.read().decode()

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def memory(self):
        """Resident bytes that belong to no file."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


class Client:
    """Shell, control, stdin and iopub of one front end."""

    def __init__(self, kernel, topic=b"", identity=None, reconnects=True):
        self.kernel = kernel
        self.session = uuid.uuid4().hex
        identity = identity or self.session.encode()  # the same on all channels: questions find their way by it
        self.iopub = kernel.socket(zmq.SUB, "iopub_port")
        self.iopub.setsockopt(zmq.SUBSCRIBE, topic)
        self.shell = kernel.socket(zmq.DEALER, "shell_port", identity, reconnects)
        self.control = kernel.socket(zmq.DEALER, "control_port", identity, reconnects)
        self.stdin = kernel.socket(zmq.DEALER, "stdin_port", identity, reconnects)
        self.raw = None  # the frames of the last message received
        if topic == b"":
            self.welcome = self.receive(self.iopub)

    def close(self):
        for each in (self.iopub, self.shell, self.control, self.stdin):
            each.close()

    # ---- frames ----

    def sign(self, parts):
        if not self.kernel.key:
            return b""
        digest = hmac.new(self.kernel.key, digestmod=hashlib.sha256)
        for part in parts:
            digest.update(part)
        return digest.hexdigest().encode()

    def frames(self, kind, content, parent=None):
        header = {"msg_id": uuid.uuid4().hex, "session": self.session, "username": "test", "version": "5.4",
                  "date": "2020-02-02T02:02:02.020202+02:00", "msg_type": kind}
        parts = [json.dumps(each).encode() for each in (header, parent or {}, {}, content)]
        return header, [DELIMITER, self.sign(parts), *parts]

    def send(self, kind, content=None, channel=None, parent=None):
        """Sends a message; the header, which answers name as their parent."""
        header, frames = self.frames(kind, content or {}, parent)
        (channel or self.shell).send_multipart(frames)
        return header

    def receive(self, channel, seconds=HANG):
        """The next message as a dictionary, signature checked; None when none comes."""
        if not channel.poll(int(seconds * 1000)):
            return None
        self.raw = channel.recv_multipart()
        at = self.raw.index(DELIMITER)
        parts = self.raw[at + 2:at + 6]
        assert self.raw[at + 1] == self.sign(parts), "the kernel's signature is wrong"
        names = ("header", "parent", "metadata", "content")
        message = dict(zip(names, (json.loads(part) for part in parts)))
        message["type"] = message["header"]["msg_type"]
        message["topic"] = self.raw[:at]
        return message

    # ---- whole requests ----

    def reply(self, header, channel=None, seconds=HANG):
        """The reply to the message of that header; others are skipped."""
        while True:
            message = self.receive(channel or self.shell, seconds)
            if message is None or message["parent"].get("msg_id") == header["msg_id"]:
                return message

    def published(self, header, seconds=HANG):
        """All that is published for the message, up to its idle."""
        messages = []
        while True:
            message = self.receive(self.iopub, seconds)
            if message is None:
                raise AssertionError(f"no idle for {header['msg_type']}; had {[m['type'] for m in messages]}")
            if message["parent"].get("msg_id") != header["msg_id"]:
                continue
            messages.append(message)
            if message["type"] == "status" and message["content"]["execution_state"] == "idle":
                return messages

    def ask(self, kind, content=None, channel=None):
        header = self.send(kind, content, channel)
        return self.reply(header, channel)["content"]

    def code(self, code, **flags):
        return {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                "allow_stdin": False, "stop_on_error": True, **flags}

    def start(self, code, **flags):
        return self.send("execute_request", self.code(code, **flags))

    def run(self, code, **flags):
        """Reply content and what was published between busy and idle."""
        header = self.start(code, **flags)
        reply = self.reply(header)
        assert reply is not None, f"no reply to {code[:60]!r}"
        return reply["content"], self.published(header)[1:-1]

    def wait_for(self, header, kind, seconds=HANG):
        """The first message of that type published for the request."""
        while True:
            message = self.receive(self.iopub, seconds)
            assert message is not None, f"no {kind} came"
            if message["parent"].get("msg_id") == header["msg_id"] and message["type"] == kind:
                return message

    def text(self, messages, name="stdout"):
        return "".join(m["content"]["text"] for m in messages
                       if m["type"] == "stream" and m["content"]["name"] == name)
