"""The kernel by the letter of the protocol, from outside: frames, channels, cells, ends.

SPDX-License-Identifier: Apache-2.0

usage: conformance.py KERNEL MODEL [PART OF A CASE'S NAME...]   MODEL: a toy model, quick to load
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import zmq

import tap
from kernel import DELIMITER, HANG, PORTS, Kernel, free_ports
from tap import case

PROGRAM, MODEL = sys.argv[1:3]
del sys.argv[1:3]
ENDLESS = "%params ignore_eos=on gauge=off max_tokens=1000000\n"


def kernel(**options):
    return Kernel(PROGRAM, extra=("--model", MODEL), **options)


def same(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def alive(client):
    same(client.ask("kernel_info_request")["status"], "ok")


# ---- channels ----

@case
def kernel_info_is_answered_in_full_on_shell_and_control():
    with kernel() as k:
        c = k.client()
        for channel in (c.shell, c.control):
            info = c.ask("kernel_info_request", channel=channel)
            same(info["status"], "ok")
            same(info["protocol_version"], "5.5")
            same(info["implementation"], "longleaf")
            same(info["language_info"]["name"], "longleaf")
            same(info["language_info"]["file_extension"], ".txt")
            same(info["supported_features"], [])
            assert info["banner"] and info["implementation_version"]


@case
def every_subscription_is_welcomed_under_its_topic():
    with kernel() as k:
        for topic in (b"", b"stream", b"", b"stream"):
            c = k.client(topic=topic)
            welcome = c.welcome if topic == b"" else c.receive(k_socket := c.iopub)
            while topic and welcome["type"] != "iopub_welcome":
                welcome = c.receive(k_socket)
            same(welcome["type"], "iopub_welcome")
            same(welcome["topic"], [topic])
            same(welcome["content"], {"subscription": topic.decode()})
            same(welcome["parent"], {})
            same(welcome["metadata"], {})


@case
def the_heartbeat_gives_back_the_very_bytes_while_a_cell_runs():
    with kernel() as k:
        c = k.client()
        header = c.start(ENDLESS + "go on")
        c.wait_for(header, "stream")
        beat = k.socket(zmq.REQ, "hb_port")
        for ping in (b"ping", b"", b"\0\xff" * 1000):
            beat.send(ping)
            assert beat.poll(HANG * 1000), "the heart stands still"
            same(beat.recv(), ping)
        c.ask("interrupt_request", channel=c.control)
        same(c.reply(header)["content"]["status"], "error")


@case
def every_request_is_between_busy_and_idle_and_carries_the_header_unchanged():
    kinds = {"kernel_info_request": {}, "execute_request": {"code": "%echo x"}, "comm_info_request": {},
             "complete_request": {"code": "", "cursor_pos": 0}, "history_request": {"hist_access_type": "tail", "n": 1},
             "inspect_request": {"code": "%help", "cursor_pos": 2, "detail_level": 0},
             "is_complete_request": {"code": "hello"}, "connect_request": {}}
    with kernel() as k:
        c = k.client()
        for kind, content in kinds.items():
            header, frames = c.frames(kind, content)
            c.shell.send_multipart(frames)
            reply = c.reply(header)
            same(reply["type"], kind.replace("request", "reply"))
            at = c.raw.index(DELIMITER)
            same(c.raw[at + 3], frames[2])  # the parent, byte for byte
            states = [m for m in c.published(header) if m["type"] == "status"]
            same([m["content"]["execution_state"] for m in states], ["busy", "idle"])
            same(c.raw[c.raw.index(DELIMITER) + 3], frames[2])


@case
def an_unknown_request_gets_busy_and_idle_and_no_reply():
    with kernel() as k:
        c = k.client()
        for channel in (c.shell, c.control):
            header = c.send("make_coffee_request", {}, channel)
            same(len(c.published(header)), 2)
        alive(c)


@case
def ipc_serves_as_tcp_does_and_leaves_no_socket_behind():
    with kernel(transport="ipc") as k:
        c = k.client()
        same(c.text(c.run("%echo over a file")[1]), "over a file\n")
        c.ask("shutdown_request", {"restart": False}, c.control)
        same(k.wait(), 0)
        same([name for name in os.listdir(k.folder.name) if name.startswith("k-")], [])


@case
def encryption_is_used_when_the_connection_file_has_keys():
    if not zmq.has("curve"):
        raise tap.Skip("this pyzmq has no CurveZMQ")
    public, secret = zmq.curve_keypair()
    with kernel(fields={"curve_publickey": public.decode(), "curve_secretkey": secret.decode()}) as k:
        c = k.client()
        same(c.text(c.run("%echo hidden")[1]), "hidden\n")
        k.curve = None
        plain = k.socket(zmq.DEALER, "shell_port")
        plain.send_multipart(c.frames("kernel_info_request", {})[1])
        assert not plain.poll(500), "the kernel speaks to who does not encrypt"
        beat = k.socket(zmq.REQ, "hb_port")
        beat.send(b"x")
        assert not beat.poll(500)


@case
def ports_chosen_by_the_kernel_are_registered_and_serve():
    with Kernel("true") as dummy:
        registry = dummy.context.socket(zmq.ROUTER)
        registry.linger = 0
        port = registry.bind_to_random_port("tcp://127.0.0.1")
        fields = {"registration_port": port, "registration_ip": "127.0.0.1", "kernel_id": "k-1"}
        with kernel(fields=fields) as k:
            c = None
            assert registry.poll(HANG * 1000), "no registration came"
            identity, delimiter, signature, content = registry.recv_multipart()
            signer = type("S", (), {"kernel": k})
            from kernel import Client
            same(delimiter, DELIMITER)
            same(signature, Client.sign(signer, [content]))
            told = json.loads(content)
            same(told["kernel_id"], "k-1")
            k.info.update({name: int(told[name]) for name in PORTS})
            answer = b'{"status": "ok"}'
            registry.send_multipart([identity, DELIMITER, Client.sign(signer, [answer]), answer])
            c = k.client()
            alive(c)


@case
def a_registration_that_is_answered_wrongly_ends_the_kernel_with_a_sentence():
    with Kernel("true") as dummy:
        registry = dummy.context.socket(zmq.ROUTER)
        registry.linger = 0
        port = registry.bind_to_random_port("tcp://127.0.0.1")
        with kernel(fields={"registration_port": port}) as k:
            assert registry.poll(HANG * 1000)
            frames = registry.recv_multipart()
            registry.send_multipart([frames[0], DELIMITER, b"0" * 64, b"{}"])
            same(k.wait(), 1)
            assert "registration" in k.errors()


@case
def a_client_that_comes_back_with_its_identity_gets_the_answers():
    with kernel() as k:
        other = k.client()
        assert other.reply(other.send("kernel_info_request"))
        # The one that is replaced stays away; else the two take the name from each other for ever.
        first = k.client(identity=b"the same", reconnects=False)
        header = first.start(ENDLESS + "go on")
        first.wait_for(header, "stream")
        second = k.client(identity=b"the same")
        alive_header = second.send("kernel_info_request", {}, second.control)
        assert second.reply(alive_header, second.control)
        second.ask("interrupt_request", channel=second.control)
        assert second.reply(second.send("kernel_info_request"))


# ---- what does not belong to the protocol ----

@case
def wrong_replayed_and_missing_signatures_are_dropped():
    with kernel() as k:
        c = k.client()
        _, frames = c.frames("execute_request", c.code("%echo no"))
        good = list(frames)
        for wrong in (b"", b"0" * 64, frames[1][:-1], frames[1] + b"0", frames[1].upper(), b"\0" * 64):
            c.shell.send_multipart([DELIMITER, wrong, *frames[2:]])
        changed = list(frames)
        changed[5] = frames[5].replace(b"no", b"on")
        c.shell.send_multipart(changed)
        alive(c)
        assert not c.iopub.poll(0) or all(m["type"] == "status" for m in drain(c)), "a forged cell ran"
        c.shell.send_multipart(good)
        reply = c.receive(c.shell)
        same(reply["content"]["execution_count"], 1)
        for channel in (c.shell, c.control, c.stdin):
            channel.send_multipart(good)  # a replay, wherever it comes from
        alive(c)
        same(c.ask("execute_request", c.code("%echo 2"))["execution_count"], 2)


def drain(client):
    messages = []
    while client.iopub.poll(200):
        messages.append(client.receive(client.iopub))
    return messages


@case
def malformed_frames_are_dropped_and_the_kernel_lives():
    with kernel() as k:
        c = k.client()
        _, f = c.frames("kernel_info_request", {})
        for bad in ([b""], [DELIMITER], f[:2], f[:5], f[1:], [b"x"] * 100 + f, [b"x"] * 5000, [b""] * 7,
                    [DELIMITER, DELIMITER, *f[1:]], [b"<IDS|MSG>\0", *f[1:]]):
            for channel in (c.shell, c.control, c.stdin):
                channel.send_multipart(bad)
        alive(c)
        same(c.ask("kernel_info_request", channel=c.control)["status"], "ok")


@case
def signed_messages_that_are_no_messages_are_dropped():
    header = {"msg_id": "1", "msg_type": "kernel_info_request", "session": "s", "username": "u", "version": "5.4"}
    good = json.dumps(header).encode()
    deep = b"[" * 100000 + b"]" * 100000
    cases = [[b"", b"{}", b"{}", b"{}"], [b"[]", b"{}", b"{}", b"{}"], [b"{}", b"{}", b"{}", b"{}"],
             [b'{"msg_type": 1, "msg_id": 2}', b"{}", b"{}", b"{}"], [good, b"null", b"{}", b"{}"],
             [good, b"{}", b"3", b"{}"], [good, b"{}", b"{}", b"[]"], [good, b"{}", b"{}", b'"'],
             [good, b"{}", b"{}", b'{"code": "\xff"}'], [good, b"{}", b"{}", deep], [good[:-1], b"{}", b"{}", b"{}"],
             [good + b"}", b"{}", b"{}", b"{}"], [good, b"{}", b"{}", b'{"a": 1e999999}'], [b"\0", b"\0", b"\0", b"\0"]]
    with kernel() as k:
        c = k.client()
        for parts in cases:
            for channel in (c.shell, c.control):
                channel.send_multipart([DELIMITER, c.sign(parts), *parts])
        alive(c)


@case
def requests_with_wrong_content_are_answered_and_harm_nothing():
    odd = [{}, {"code": 3}, {"code": None}, {"code": "", "cursor_pos": -5}, {"code": "%é", "cursor_pos": 1 << 40},
           {"code": "%params \0", "cursor_pos": "x"}, {"hist_access_type": 7, "n": "many"},
           {"hist_access_type": "range", "session": -99, "start": -1, "stop": 1 << 60}]
    with kernel() as k:
        c = k.client()
        for kind in ("execute", "complete", "inspect", "is_complete", "history", "comm_info", "comm_open"):
            for content in odd:
                header = c.send(kind + "_request" if kind != "comm_open" else kind, content)
                c.published(header)
        same(c.ask("execute_request", {"code": 3})["ename"], "UsageError")
        alive(c)


@case
def buffers_behind_the_content_are_not_signed_and_no_matter():
    with kernel() as k:
        c = k.client()
        header, frames = c.frames("kernel_info_request", {})
        c.shell.send_multipart(frames + [b"\xff" * 100000, b""])
        same(c.reply(header)["content"]["status"], "ok")


@case
def ports_that_are_taken_and_files_that_are_none_end_with_a_sentence():
    with kernel() as k:
        k.client()
        second = subprocess.run([PROGRAM, "-f", k.path], capture_output=True, text=True, timeout=HANG)
        same(second.returncode, 1)
        assert "cannot listen" in second.stderr, second.stderr
    ports = dict(zip(PORTS, free_ports(5)))
    good = {"transport": "tcp", "ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256", **ports}
    bad = ["", "[]", "{", json.dumps({}), json.dumps({**good, "shell_port": 0}), "x" * 70000,
           json.dumps({**good, "hb_port": 99999}), json.dumps({**good, "transport": "carrier pigeon"}),
           json.dumps({**good, "signature_scheme": "hmac-md5"}), json.dumps({**good, "ip": "not an address"}),
           json.dumps({**good, "key": 5}), json.dumps({**good, "curve_publickey": "x", "curve_secretkey": "y"})]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c.json")
        for text in bad:
            with open(path, "w") as file:
                file.write(text)
            got = subprocess.run([PROGRAM, "-f", path], capture_output=True, text=True, timeout=HANG)
            same((got.returncode, got.stdout), (1, ""))
            same(len(got.stderr.splitlines()), 1)
        got = subprocess.run([PROGRAM, "-f", path + ".missing"], capture_output=True, text=True, timeout=HANG)
        same(got.returncode, 1)


# ---- execution ----

@case
def a_silent_cell_publishes_only_its_state_and_does_not_count():
    with kernel() as k:
        c = k.client()
        reply, published = c.run("%echo loud", silent=True)
        same((reply["status"], published), ("ok", []))
        reply, published = c.run("%nosuch", silent=True)
        same((reply["status"], published), ("error", []))
        same(c.run("%echo a")[0]["execution_count"], 1)
        same(c.run("%echo b", store_history=False)[0]["execution_count"], 2)
        reply, published = c.run("%echo c")
        same(reply["execution_count"], 2)
        same(published[0]["content"], {"code": "%echo c", "execution_count": 2})
        inputs = [row[2] for row in c.ask("history_request", {"hist_access_type": "range", "session": 0,
                                                              "start": 0, "raw": True, "output": False})["history"]]
        same(inputs, ["%echo a", "%echo c"])


@case
def a_failed_cell_says_the_same_in_its_reply_and_to_everybody():
    with kernel() as k:
        c = k.client()
        reply, published = c.run("%loda file")
        error = published[-1]
        same(error["type"], "error")
        for key in ("ename", "evalue", "traceback"):
            same(error["content"][key], reply[key])
        same(reply["ename"], "UsageError")
        assert "did you mean %load" in reply["evalue"], reply["evalue"]
        assert all(isinstance(line, str) for line in reply["traceback"])


@case
def cells_that_wait_behind_a_failed_one_are_given_up_and_others_served():
    with kernel() as k:
        c = k.client()
        first = c.start(ENDLESS + "go on")
        c.wait_for(first, "stream")
        waiting = [c.start("%echo never") for _ in range(3)]
        info = c.send("kernel_info_request")
        more = c.start("%echo never")
        time.sleep(0.3)  # they are to have arrived when the cell fails
        c.ask("interrupt_request", channel=c.control)
        same(c.reply(first)["content"]["ename"], "KeyboardInterrupt")
        for header in waiting:
            same(c.reply(header)["content"]["status"], "aborted")
        same(c.reply(info)["content"]["status"], "ok")
        same(c.reply(more)["content"]["status"], "aborted")
        same([m["type"] for m in c.published(more)], ["status", "status"])
        same(c.text(c.run("%echo again")[1]), "again\n")


@case
def without_stop_on_error_cells_that_wait_run():
    with kernel() as k:
        c = k.client()
        first = c.start("%nosuch", stop_on_error=False)
        second = c.start("%echo runs")
        same(c.reply(first)["content"]["status"], "error")
        same(c.reply(second)["content"]["status"], "ok")


@case
def user_expressions_are_magics_and_one_bad_key_fails_alone():
    with kernel() as k:
        c = k.client()
        asked = {"m": "%memory", "bad": "%nosuch", "prose": "hello there", "none": ""}
        reply, published = c.run("%echo x", user_expressions=asked)
        found = reply["user_expressions"]
        same(reply["status"], "ok")
        same(sorted(found), sorted(asked))
        same(found["m"]["status"], "ok")
        assert "text/plain" in found["m"]["data"]
        for key in ("bad", "prose", "none"):
            same(found[key]["status"], "error")
            assert found[key]["ename"] and found[key]["traceback"]
        same([m["type"] for m in published], ["execute_input", "stream"])


@case
def the_reply_tells_when_the_cell_began_and_its_first_token_came():
    with kernel() as k:
        c = k.client()
        header = c.start("%echo x")
        same(sorted(c.reply(header)["metadata"]), ["started"])
        header = c.start("%params max_tokens=3 gauge=off\nhello")
        moments = c.reply(header)["metadata"]
        same(sorted(moments), ["first_token", "started"])
        assert moments["started"] < moments["first_token"] and moments["started"].endswith("Z")


@case
def a_blank_cell_is_no_turn():
    with kernel() as k:
        c = k.client()
        for code in ("", "  \n\t\n"):
            reply, published = c.run(code)
            same((reply["status"], [m["type"] for m in published]), ("ok", ["execute_input"]))
        same(c.run("%echo x")[0]["execution_count"], 1)


@case
def streams_are_whole_and_what_drives_terminals_is_shown():
    with kernel() as k:
        c = k.client()
        _, published = c.run("%echo --stderr caf\u00e9 \U0001f333 \x1b]52;c;eA==\x07 \x9b")
        text = c.text(published, "stderr")
        assert "caf\u00e9 \U0001f333" in text and "\x1b" not in text and "\x07" not in text and "\x9b" not in text
        assert "\u241b" in text
        same(c.text(c.run("%%echo\nline 1\nline 2")[1]), "line 1\nline 2\n")


@case
def streamed_text_is_gathered_into_few_messages():
    with kernel() as k:
        c = k.client()
        began = time.monotonic()
        _, published = c.run("%params ignore_eos=on gauge=off max_tokens=2000\nwrite")
        chunks = [m for m in published if m["type"] == "stream"]
        assert chunks and len(chunks) <= 5 + 26 * (time.monotonic() - began), len(chunks)  # one in 40 ms at most
        assert c.text(published).strip()


@case
def the_gauge_is_one_display_with_updates_and_no_script():
    with kernel() as k:
        c = k.client()
        _, published = c.run("%params ignore_eos=on gauge=on max_tokens=300\nwrite")
        shown = [m for m in published if m["type"] == "display_data"]
        updates = [m for m in published if m["type"] == "update_display_data"]
        same(len(shown), 1)
        assert updates
        ids = {m["content"]["transient"]["display_id"] for m in shown + updates}
        same(len(ids), 1)
        for message in shown + updates:
            same(sorted(message["content"]["data"]), ["text/html", "text/plain"])
            html = message["content"]["data"]["text/html"]
            assert "<script" not in html and "http" not in html
        kinds = [m["type"] for m in published]
        assert kinds.index("display_data") < kinds.index("stream"), "the gauge is to stand above the text"
        assert "300 tokens" in updates[-1]["content"]["data"]["text/plain"]


@case
def a_prompt_past_the_context_goes_on_only_where_no_end_is_wanted():
    with kernel() as k:
        c = k.client()
        capacity = json_of(c.run("%context"))["capacity"]
        reply, published = c.run(f"%params ignore_eos=on gauge=on max_tokens={capacity + 50}\nwrite")
        same(reply["status"], "ok")
        last = [m for m in published if m["type"] == "update_display_data"][-1]
        assert "past the context" in last["content"]["data"]["text/plain"]
        alive(c)


@case
def a_prompt_that_no_context_holds_is_read_in_windows_and_can_be_asked():
    with kernel() as k:
        c = k.client()
        c.run("%params context=512 gauge=off max_tokens=20")
        text = " ".join(f"On day {day} the wind came from the north." for day in range(200))
        reply, published = c.run(text)
        same(reply["status"], "ok")
        said = [m["content"]["data"]["text/plain"] for m in published if m["type"] == "display_data"]
        assert "read in windows" in said[0], said
        summary = [m for m in published if m["type"] == "execute_result"][0]["content"]["data"]["application/json"]
        same(summary["coverage"]["share"], 1)
        documents = json_of(c.run("%docs"))["documents"]
        same([(d["kind"], d["bytes"]) for d in documents], [("text", len(text))])
        same(json_of(c.run("%context"))["messages"], 0)
        same(c.run("%ask Where did the wind come from?")[0]["status"], "ok")
        reply, published = c.run("and now?")  # a cell's text is not said to be too long again and again
        same([m["type"] for m in published if m["type"] == "display_data"], [])


@case
def a_conversation_that_outgrows_its_context_goes_on_with_a_summary_of_its_oldest_part():
    with kernel() as k, tempfile.TemporaryDirectory() as folder:
        c = k.client()
        path = os.path.join(folder, "note.txt")
        with open(path, "w") as file:
            file.write("The tower is 31 metres high.\n")
        c.run(f"%load {path}\n%params context=512 gauge=off max_tokens=40 ignore_eos=on")
        messages = 0
        for turn in range(40):
            reply, published = c.run(f"turn {turn} of a talk about nothing much at all")
            same(reply["status"], "ok")
            shown = [m["content"]["data"] for m in published if m["type"] == "display_data"]
            before, messages = messages, json_of(c.run("%context"))["messages"]
            if shown:
                break
        assert "outgrown its context" in shown[0]["text/plain"] and "text/markdown" in shown[0], shown
        assert c.text(published).strip(), "the answer is missing"
        assert messages <= before, (messages, before)
        prompt = json_of(c.run("%prompt next"))["text"]
        assert f"turn {turn} of a talk" in prompt and "said before, in short" in prompt, prompt
        same(json_of(c.run("%undo"))["messages"], before)
        prompt = json_of(c.run("%prompt next"))["text"]
        assert "turn 0 of a talk" in prompt and "said before, in short" not in prompt, prompt


def json_of(result):
    reply, published = result
    assert reply["status"] == "ok", reply
    return [m for m in published if m["type"] == "execute_result"][-1]["content"]["data"]["application/json"]


@case
def the_run_log_lists_what_the_notebook_ran_and_draws_it_over_the_prediction():
    with tempfile.TemporaryDirectory() as home:
        with kernel(env={"HOME": home, "XDG_STATE_HOME": home}) as k:
            c = k.client()
            same(json_of(c.run("%log")), {"runs": []})
            contexts = [256, 512, 1024]
            for context in contexts:
                same(c.run(f"%params gauge=off max_tokens=3 context={context}\nhello")[0]["status"], "ok")
                same(json_of(c.run("%context"))["capacity"], context)
            runs = json_of(c.run("%log"))["runs"]
            same([(r["verb"], r["context"], r["end"]) for r in runs],
                 [("notebook", 256, "done"), ("notebook", 512, "done"), ("notebook", 1024, "going")])
            assert all(r["tokens_in"] > 0 and r["peak_cache"] > 0 and r["first_token_seconds"] >= 0 for r in runs)
            picture = c.run("%log --curve")[1][-1]["content"]["data"]
            assert picture["image/svg+xml"].count("<circle") == 3 and "3 runs measured" in picture["text/plain"]
            if shutil.which("rsvg-convert"):
                same(base64.b64decode(picture["image/png"])[:8], b"\x89PNG\r\n\x1a\n")
            pair = json_of(c.run("%log --compare 1 3"))
            same((pair["a"]["context"], pair["b"]["context"]), (256, 1024))
            for wrong in ("--compare 1", "--curves", "7"):
                same(c.run(f"%log {wrong}")[0]["ename"], "UsageError")
            same(c.run("%log --compare 1 99")[0]["ename"], "UsageError")
            same(c.run("%params context=8\nhello")[0]["ename"], "UsageError")
            c.run("%params context=None kv=f32")
            same(c.run("hello")[0]["status"], "ok")
            same(json_of(c.run("%log"))["runs"][-1]["kv"], "f32")


@case
def several_files_are_attached_by_one_magic_and_all_told_of():
    with kernel() as k, tempfile.TemporaryDirectory() as folder:
        c = k.client()
        paths = [os.path.join(folder, name) for name in ("one.txt", "two b.txt")]
        for path in paths:
            with open(path, "w") as file:
                file.write("The tower is 31 metres high.\n")
        rows = json_of(c.run(f'%load {paths[0]} "{paths[1]}"'))
        same([row["path"] for row in rows], paths)
        same(json_of(c.run(f"%load {paths[0]}"))["path"], paths[0])


@case
def every_magic_that_shows_something_shows_text_markdown_and_json():
    with kernel() as k, tempfile.TemporaryDirectory() as folder:
        c = k.client()
        with open(os.path.join(folder, "a.txt"), "w") as file:
            file.write("The tower is 31 metres high. It was built in 1874.\n")
        c.run("%params gauge=off max_tokens=5\nhello")
        for code in ("%help", "%help sum", f"%load {folder}/a.txt", "%docs", "%summarize", "%cite 1", "%ask How high is it?",
                     "%plan", "%model", "%params", "%system be brief", "%prompt next", "%context", "%kv", "%memory", "%memory trim", "%memory prometheus", "%log",
                     "%mark here", "%mark", "%back here", f"%save {folder}/talk", f"%open {folder}/talk",
                     f"%export md {folder}/talk.md", f"%%file {folder}/b.txt\ntext", "%undo", "%reset -f"):
            reply, published = c.run(code)
            same((code, reply["status"]), (code, "ok"))
            data = [m for m in published if m["type"] == "execute_result"][-1]["content"]["data"]
            assert data["text/plain"] and data["text/markdown"] and "application/json" in data, (code, sorted(data))


# ---- interrupts ----

def interrupt_a_cell(k, c, stop, code=ENDLESS + "go on"):
    header = c.start(code)
    c.wait_for(header, "stream")
    stop()
    reply = c.reply(header)["content"]
    same((reply["status"], reply["ename"]), ("error", "KeyboardInterrupt"))
    same([m["type"] for m in c.published(header)][-2:], ["error", "status"])
    return reply


@case
def an_interrupt_by_message_or_signal_ends_the_answer_and_keeps_its_text():
    with kernel() as k:
        c = k.client()
        for number, stop in enumerate((lambda: c.ask("interrupt_request", channel=c.control), k.signal,
                                       lambda: c.send("interrupt_request", {}, c.control)), 1):
            reply = interrupt_a_cell(k, c, stop)
            assert "kept" in reply["evalue"] and "tokens" in reply["evalue"]
            same(json_of(c.run("%context"))["messages"], 2 * number)
        c.run("%undo")
        same(json_of(c.run("%context"))["messages"], 4)


@case
def a_conversation_saved_is_opened_by_another_kernel_without_computing_it_again():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a conversation")
        begin = "%params gauge=off max_tokens=20\n"
        with kernel() as k:
            c = k.client()
            c.run(begin + "hello to you")
            same(c.run(f"%save {path}")[0]["status"], "ok")
            wanted = c.text(c.run("and once more")[1])
        same(os.stat(path).st_mode & 0o777, 0o600)
        with kernel() as k:
            c = k.client()
            same(c.run(f"%open {path}")[0]["status"], "ok")
            same(json_of(c.run("%context"))["messages"], 2)
            same(json_of(c.run("%kv"))["prefilled"], 0)
            same(c.text(c.run(begin + "and once more")[1]), wanted)
            assert json_of(c.run("%kv"))["reused"] > 10
            with open(path, "r+b") as file:
                file.truncate(100)
            same(c.run(f"%open {path}")[0]["ename"], "FileError")
            same(c.run(f"%open {path}.missing")[0]["ename"], "FileError")
            same(json_of(c.run("%context"))["messages"], 4)


@case
def interrupts_between_cells_and_many_at_once_harm_nothing():
    with kernel() as k:
        c = k.client()
        alive(c)
        k.signal()
        for _ in range(5):
            same(c.ask("interrupt_request", channel=c.control), {"status": "ok"})
        same(c.run("%params max_tokens=3 gauge=off\nhello")[0]["status"], "ok")
        for _ in range(20):
            interrupt_a_cell(k, c, lambda: [c.ask("interrupt_request", channel=c.control) for _ in range(3)],
                             "%reset -f\n" + ENDLESS + "go on")
        same(c.run("%reset -f\n%params max_tokens=3 ignore_eos=off\nhello")[0]["status"], "ok")


@case
def an_interrupt_while_the_prompt_is_read_takes_the_prompt_back():
    with kernel() as k:
        c = k.client()
        capacity = json_of(c.run("%context"))["capacity"]
        header = c.start("%params gauge=on\n" + "a b " * (capacity // 8))
        c.wait_for(header, "display_data")
        c.ask("interrupt_request", channel=c.control)
        reply = c.reply(header)["content"]
        if reply["status"] == "ok":
            raise tap.Skip("the prompt was read before the interrupt came")
        same(reply["ename"], "KeyboardInterrupt")
        messages = json_of(c.run("%context"))["messages"]
        same(messages, 0 if "taken back" in reply["evalue"] else 2)


@case
def questions_go_to_the_asker_and_an_interrupt_ends_them():
    with kernel() as k:
        c, other = k.client(), k.client()
        c.run("%params max_tokens=3 gauge=off\nhello")
        same(c.run("%reset")[0]["ename"], "UsageError")  # allow_stdin is off
        for answer, left in (("n", 2), ("y", 0)):
            header = c.start("%reset", allow_stdin=True)
            question = c.receive(c.stdin)
            same(question["type"], "input_request")
            same(question["content"]["password"], False)
            same(question["parent"]["msg_id"], header["msg_id"])
            c.send("input_reply", {"status": "ok", "value": answer}, c.stdin, question["header"])
            same(c.reply(header)["content"]["status"], "ok")
            same(json_of(c.run("%context"))["messages"], left)
        assert not other.stdin.poll(0)
        header = c.start("%reset", allow_stdin=True)
        c.receive(c.stdin)
        c.ask("interrupt_request", channel=c.control)
        same(c.reply(header)["content"]["ename"], "KeyboardInterrupt")
        same(c.run("%reset -f")[0]["status"], "ok")


@case
def a_question_waits_for_a_client_whose_channel_comes_late():
    with kernel() as k:
        c = k.client()
        c.run("%params max_tokens=3 gauge=off\nhello")
        c.stdin.close()
        header = c.start("%reset", allow_stdin=True)
        assert not c.shell.poll(300)
        c.stdin = k.socket(zmq.DEALER, "stdin_port", c.shell.getsockopt(zmq.IDENTITY))
        question = c.receive(c.stdin)
        c.send("input_reply", {"status": "ok", "value": "y"}, c.stdin, question["header"])
        same(c.reply(header)["content"]["status"], "ok")


# ---- words about cells ----

@case
def the_manual_explains_every_magic_and_parameter():
    with open(os.path.join(os.environ["top_srcdir"], "docs", "longleaf-kernel.1")) as file:
        page = file.read()
    with kernel() as k:
        c = k.client()
        shown = c.run("%help")[1][-1]["content"]["data"]["text/plain"]
        names = [line.split()[0].lstrip("%") for line in shown.splitlines() if line.startswith("%")]
        assert len(names) > 15
        lacking = [name for name in names + list(json_of(c.run("%params"))) if name not in page]
        same(lacking, [])


@case
def completion_counts_code_points_and_knows_magics_parameters_and_files():
    with kernel() as k, tempfile.TemporaryDirectory() as folder:
        c = k.client()
        with open(os.path.join(folder, "one \U0001f333 tree.txt"), "w") as file:
            file.write("x")

        def complete(code, at=None):
            at = len(code) if at is None else at
            return c.ask("complete_request", {"code": code, "cursor_pos": at})

        got = complete("%mod")
        same((got["matches"], got["cursor_start"], got["cursor_end"]), (["%model"], 0, 4))
        got = complete("%%summ")
        assert "%%summarize" in got["matches"] and got["cursor_start"] == 0
        same(complete("%%s")["matches"], ["%%sum", "%%system"])  # not those that take no text
        same((complete("%fil")["matches"], complete("%%fil")["matches"]), ([], ["%%file"]))
        got = complete("%params max_")
        same((got["matches"], got["cursor_start"], got["cursor_end"]), (["max_tokens"], 8, 12))
        same(complete("%params gauge=o")["matches"], ["on", "off"])
        begin = f"%load {folder}/one \U0001f333"
        got = complete(begin)
        same(got["matches"], [f"{folder}/one \U0001f333 tree.txt"])
        same((got["cursor_start"], got["cursor_end"]), (6, len(begin)))
        got = complete("%echo \U0001f333\n%mem and more", 12)
        same((got["matches"], got["cursor_start"], got["cursor_end"]), (["%memory"], 8, 12))
        same(complete("tell me of mod")["matches"], [])
        same(complete("prose first\n%mod")["matches"], [])


@case
def inspection_finds_magics_and_parameters_only():
    with kernel() as k:
        c = k.client()

        def inspect(code, at, level=0):
            return c.ask("inspect_request", {"code": code, "cursor_pos": at, "detail_level": level})

        got = inspect("%model x", 3)
        assert got["found"] and "model" in got["data"]["text/plain"] and got["data"]["text/markdown"]
        same(inspect("%nosuchmagic", 3)["found"], False)
        same(inspect("what is %model", 10)["found"], False)
        assert "now 0" in inspect("%params temp=1", 10)["data"]["text/plain"]
        assert "max_tokens" in inspect("%params", 3, 1)["data"]["text/plain"]


@case
def is_complete_waits_for_bodies_and_continued_lines_only():
    with kernel() as k:
        c = k.client()
        for code, wanted in (("%%summarize", "incomplete"), ("%%summarize\ntext", "complete"), ("and so \\", "incomplete"),
                             ("What is a tree?", "complete"), ("%memory", "complete"), ("", "complete"), ("(((", "complete")):
            same((code, c.ask("is_complete_request", {"code": code})["status"]), (code, wanted))


def history(client, n=100):
    return client.ask("history_request", {"hist_access_type": "tail", "n": n, "raw": True, "output": False})["history"]


@case
def history_knows_tail_range_search_outputs_and_other_sessions():
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "XDG_STATE_HOME": home}
        with kernel(env=env) as k:
            c = k.client()
            for code in ("%echo 1", "%echo 2", "%echo 1", "%memory"):
                c.run(code)

            def ask(**content):
                return c.ask("history_request", {"raw": True, "output": False, **content})["history"]

            same([row[2] for row in ask(hist_access_type="tail", n=2)], ["%echo 1", "%memory"])
            same([row[1:] for row in ask(hist_access_type="range", session=0, start=2, stop=4)],
                 [[2, "%echo 2"], [3, "%echo 1"]])
            same([row[2] for row in ask(hist_access_type="search", pattern="%echo*", n=10, unique=True)],
                 ["%echo 2", "%echo 1"])
            same(ask(hist_access_type="search", pattern="%echo 2", n=10, output=True)[0][2], ["%echo 2", "2\n"])
            c.ask("shutdown_request", {"restart": True}, c.control)
            same(k.wait(), 0)
        same(os.stat(os.path.join(home, "longleaf", "history")).st_mode & 0o777, 0o600)
        with kernel(env=env) as k:
            c = k.client()
            rows = history(c)
            same([row[2] for row in rows][-4:], ["%echo 1", "%echo 2", "%echo 1", "%memory"])
            same(c.run("%echo x")[0]["execution_count"], 1)
            c.run("%%echo\n" + 5000 * "long ")  # is in this session's history alone
            same(len(history(c)), 6)
        with open(os.path.join(home, "longleaf", "history")) as file:
            kept = file.read()
        assert kept.endswith("%echo x\n"), kept[-100:]
        with kernel(env={**env, "LONGLEAF_PRIVATE": "1"}) as k:
            c = k.client()
            c.run("%echo nobody hears of it")
            same([row[2] for row in history(c)], ["%echo nobody hears of it"])
        with open(os.path.join(home, "longleaf", "history")) as file:
            same(file.read(), kept)


@case
def comms_are_closed_at_once():
    with kernel() as k:
        c = k.client()
        same(c.ask("comm_info_request"), {"status": "ok", "comms": {}})
        for kind in ("comm_open", "comm_msg"):
            header = c.send(kind, {"comm_id": "42", "target_name": "jupyter.widget", "data": {}})
            same([m["content"]["comm_id"] for m in c.published(header) if m["type"] == "comm_close"], ["42"])


@case
def json_stands_beside_text_for_programs_and_never_in_place_of_it():
    with kernel() as k:
        c = k.client()
        for metadata, name in (({}, "application/json"), ({"cellId": "1"}, "application/vnd.longleaf+json")):
            header, frames = c.frames("execute_request", c.code("%params"))
            parts = [frames[2], frames[3], json.dumps(metadata).encode(), frames[5]]
            c.shell.send_multipart([DELIMITER, c.sign(parts), *parts])
            result = [m for m in c.published(header) if m["type"] == "execute_result"][0]
            same(sorted(result["content"]["data"]), sorted([name, "text/markdown", "text/plain"]))


@case
def a_cell_of_papermill_sets_parameters():
    with kernel() as k:
        c = k.client()
        reply, _ = c.run('# Parameters\nmax_tokens = 17\ntemp = 0.5\nfocus = "two words"\ngauge = False\nstop = None\n')
        same(reply["status"], "ok")
        values = json_of(c.run("%params"))
        same((values["max_tokens"], values["temp"], values["focus"], values["gauge"]), (17, 0.5, "two words", "off"))
        same(c.run("# Parameters\nno_such = 1")[0]["ename"], "UsageError")
        assert "max_tokens" in c.run("%params max_token=3")[0]["evalue"]
        same(c.run("%params temp=hot")[0]["ename"], "UsageError")


# ---- many, large, slow ----

@case
def sixty_four_clients_get_all_their_answers():
    with kernel() as k:
        clients = [k.client() for _ in range(64)]
        headers = [(c, [c.start(f"%echo {n}") for n in range(4)]) for c in clients]
        for c, each in headers:
            for header in each:
                same(c.reply(header)["content"]["status"], "ok")
        counts = {c.ask("execute_request", c.code("%echo x"))["execution_count"] for c in clients[:2]}
        same(counts, {257, 258})


@case
def ten_megabytes_go_through_whole():
    with kernel() as k:
        c = k.client()
        body = "0123456789abcde\n" * (10 * 65536)
        header = c.start("%%echo\n" + body)
        same(c.reply(header)["content"]["status"], "ok")
        published = c.published(header)
        same(len(published[1]["content"]["code"]), len(body) + 7)
        same(c.text(published).rstrip("\n"), body.rstrip("\n"))


@case
def a_subscriber_that_sleeps_holds_nobody_up_and_loses_nothing():
    with kernel() as k:
        sleeper, c = k.client(), k.client()
        last = None
        for number in range(300):
            last = c.start(f"%echo {number}")
            same(c.reply(last)["content"]["status"], "ok")
        c.published(last)
        text = sleeper.text(iter_until(sleeper, last))
        same(text, "".join(f"{number}\n" for number in range(300)))


def iter_until(client, header):
    messages = []
    while True:
        message = client.receive(client.iopub)
        assert message is not None, "messages were lost"
        messages.append(message)
        if message["parent"].get("msg_id") == header["msg_id"] and message["content"].get("execution_state") == "idle":
            return messages


@case
def hundreds_of_cells_leave_no_memory_behind():
    with kernel() as k:
        c = k.client()
        c.run("%params max_tokens=2 gauge=on\nhello")
        for round_number in range(3):
            for _ in range(2000 if tap.LONG else 150):
                header = c.start("%reset -f\n%undo\n%memory\n%params")
                c.reply(header)
                c.published(header)
            if round_number == 0:
                before, threads = k.memory(), k.threads()
        grown = k.memory() - before
        same(k.threads(), threads)
        if not os.environ.get("ll_sanitizers", "").strip():  # they keep what is freed, and look for leaks themselves
            assert grown < 4 << 20, f"{grown} bytes more"


# ---- ends ----

@case
def shutdown_is_answered_told_to_all_and_ends_also_while_a_cell_runs():
    for busy in (False, True):
        for restart in (False, True):
            with kernel() as k:
                c = k.client()
                cell = c.start(ENDLESS + "go on") if busy else None
                if cell:
                    c.wait_for(cell, "stream")
                header = c.send("shutdown_request", {"restart": restart}, c.control)
                reply = c.reply(header, c.control)
                same((reply["type"], reply["content"]), ("shutdown_reply", {"status": "ok", "restart": restart}))
                same(c.wait_for(header, "shutdown_reply")["content"]["restart"], restart)
                if cell:
                    same(c.reply(cell)["content"]["status"], "error")
                same(k.wait(), 0)


@case
def shutdown_by_the_shell_channel_and_by_signals_ends_cleanly():
    with kernel() as k:
        c = k.client()
        same(c.ask("shutdown_request", {"restart": False})["status"], "ok")
        same(k.wait(), 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        with kernel() as k:
            k.client()
            k.signal(number)
            same(k.wait(), 0)


@case
def the_kernel_ends_with_the_process_that_started_it():
    with tempfile.TemporaryDirectory() as folder:
        pid_file = os.path.join(folder, "pid")
        starter = ["sh", "-c", f'JPY_PARENT_PID=$$; export JPY_PARENT_PID; "$@" & echo $! > {pid_file}.new; '
                               f"mv {pid_file}.new {pid_file}; wait", "starter"]
        for busy in (False, True):
            with kernel(wrap=starter) as k:
                c = k.client()
                if busy:
                    c.wait_for(c.start(ENDLESS + "go on"), "stream")
                with open(pid_file) as file:
                    pid = int(file.read())
                k.process.kill()
                for _ in range(HANG * 10):
                    if not runs(pid):
                        break
                    time.sleep(0.1)
                assert not runs(pid), "the kernel outlives its parent"


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@case
def restarts_leave_no_process_and_no_file_behind():
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(50 if tap.LONG else 5):
            with kernel(env={"TMPDIR": folder}) as k:
                c = k.client()
                same(c.run("%params max_tokens=2 gauge=off\nhello")[0]["status"], "ok")
                c.ask("shutdown_request", {"restart": True}, c.control)
                same(k.wait(), 0)
                same(os.listdir(k.folder.name), ["connection.json"])
        meeting = f"longleaf-{os.getuid()}" # where running programs meet, kept by the user; nobody is left in it
        same([name for name in os.listdir(folder) if name != meeting], [])
        if os.path.exists(os.path.join(folder, meeting)):
            same(os.listdir(os.path.join(folder, meeting)), [])


@case
def a_model_that_is_missing_is_an_error_of_the_cell():
    with Kernel(PROGRAM, extra=("--model", "/nowhere/at/all.gguf")) as k:
        c = k.client()
        alive(c)
        for _ in range(2):
            reply, _ = c.run("hello")
            same(reply["ename"], "ModelError")
            assert "all.gguf" in reply["evalue"]
        same(c.run("%echo still here")[0]["status"], "ok")
        same(c.run(f"%model {MODEL}")[0]["status"], "ok")
        same(c.run("%params max_tokens=3\nhello")[0]["status"], "ok")


if __name__ == "__main__":
    sys.exit(tap.run())
