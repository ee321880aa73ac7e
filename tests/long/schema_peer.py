"""Random JSON schemas: what `longleaf run --json-schema` writes must be valid to the jsonschema library.
SPDX-License-Identifier: Apache-2.0

usage: schema_peer.py PROGRAM FOLDER [ROUNDS]; the model is the default one. Prints TAP.
"""
import json
import os
import random
import subprocess
import sys

import jsonschema


def schema(pick, depth):
    kinds = ["integer", "number", "boolean", "null", "string", "enum", "const", "types"]
    kind = pick.choice(kinds + ["object", "array", "anyOf", "ref"] * (2 if depth else 0))
    if kind == "enum":
        return {"enum": pick.sample(["a", "b c", 3, -1.5, None, True, "ä\"\\"], pick.randint(1, 4))}
    if kind == "const":
        return {"const": pick.choice(["x", 7, [1, "z"], {"k": None}])}
    if kind == "types":
        return {"type": pick.sample(["string", "null", "integer", "boolean"], 2)}
    if kind == "ref":
        return {"$ref": "#/$defs/leaf"}
    if kind == "anyOf":
        return {"anyOf": [schema(pick, depth - 1) for _ in range(pick.randint(1, 3))]}
    if kind == "string":
        least = pick.randint(0, 3)
        return pick.choice([{"type": "string", "maxLength": 12},
                            {"type": "string", "minLength": least, "maxLength": least + 4}])
    if kind == "array":
        least = pick.randint(0, 2)
        made = {"type": "array", "items": schema(pick, depth - 1), "minItems": least, "maxItems": least + 2}
        if pick.random() < 0.3:
            made["prefixItems"] = [schema(pick, depth - 1)]
            made["maxItems"] += 1
        return made
    if kind == "object":
        names = pick.sample(["name", "age", "ü", "a b", "x\"y", "tags", "next"], pick.randint(1, 4))
        return {"type": "object", "properties": {name: schema(pick, depth - 1) for name in names},
                "required": pick.sample(names, pick.randint(0, len(names))),
                **({"additionalProperties": False} if pick.random() < 0.5 else {})}
    return {"type": kind}


def main():
    program, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 40
    seed = int(os.environ.get("LL_SEED", random.SystemRandom().getrandbits(31)))
    pick, whole, cut = random.Random(seed), 0, 0
    print(f"# LL_SEED={seed}\n1..1", flush=True)
    path = os.path.join(folder, "schema-peer.json")
    for number in range(rounds):
        made = {**schema(pick, 3), "$defs": {"leaf": {"type": "object", "properties": {"n": {"type": "integer"}},
                                                      "required": ["n"]}}}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(made, out, ensure_ascii=pick.random() < 0.5)
        answer = subprocess.run([program, "run", "-p", "Fill in the form.", "--json-schema", path, "-n", "400", "--json",
                                 "--temp", "1.3", "--seed", str(number)], capture_output=True, text=True, check=False)
        assert answer.returncode == 0, (made, answer.stderr)
        result = json.loads(answer.stdout)
        if result["finish"] != "end":
            assert "cut" in answer.stderr
            cut += 1
            continue
        jsonschema.Draft202012Validator(made).validate(json.loads(result["text"]))
        whole += 1
    os.remove(path)
    print(f"# {whole} whole documents were valid, {cut} were cut by the limit and said so")
    print(f"{'ok' if whole > rounds // 2 else 'not ok'} 1 - documents under random schemas are valid")


main()
