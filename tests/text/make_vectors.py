#!/usr/bin/env python3
"""Tiny vocabularies as GGUF files, hard texts, and the token ids that other libraries give for them.
SPDX-License-Identifier: Apache-2.0

    python3 -m venv v && v/bin/pip install -r requirements.txt
    v/bin/python make_vectors.py                       # vectors/bpe.*, vectors/spm-*, vectors/unigram-*
    v/bin/python make_vectors.py --default MODEL.gguf  # vectors/default.txt and default-chat.txt instead

Byte-level BPE is held to the tokenizers library, whose pre-tokenizers are built here as the published
tokenizer.json files of the named models have them; SentencePiece to the sentencepiece library, its unigram
model to both. The BPE vocabulary is trained without any pre-tokenizer, so that merges cross every border a
rule must keep.
Training text: the licences in /usr/share/common-licenses (Debian) and the samples below.

NAME.txt has one text a block: "text HEX", then lines "ids RULE: ID ID …".
"""
import argparse
import json
import os
import random
import tempfile

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "vectors")
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

SAMPLES = [
    "It's what they're doing: I'd say we've won, she'll see. IT'S WHAT THEY'RE DOING. don’t, won’t",
    "caf\u00e9 cafe\u0301 na\u00efve nai\u0308ve \u00c5ngstro\u0308m \u1e69 s\u0323\u0307 s\u0307\u0323 \u212b",
    "漢字とカタカナ、ひらがな。한국어 텍스트, 中文句子！",
    "ภาษาไทยไม่มีช่องว่าง สวัสดีครับ",
    "مرحبا بالعالم، كيف الحال؟ ٣٤٥ ۴۵۶",
    "हिन्दी में लिखा हुआ। १२३",
    "👩‍👩‍👧‍👦 👍🏽 👍 🏳️‍🌈 🇩🇪🇫🇷🇯🇵 😀😃",
    "int main(void)\n{\n\treturn x[0] != 'a' && *p++ == \"b\\n\";\n}\n",
    "def f(a, b=1):\n    if a:\n        return {'k': [1, 22, 333, 4444, 55555]}\n\n\n",
    "line one\r\nline two\r\n\r\n\r\nline three\r\rline four",
    "1 12 123 1234 12345 123456 1,234.56 3.14159 1e-10 0xFF ½ ² ① Ⅷ 2024-01-31",
    "   leading,  double   triple    and trailing   ",
    "tabs\t\t\tand\t \t mixed \n \n  \n\t\n end",
    "a\u00a0b\u2003c\u3000d\u2028e\u0085f\u180eg\u200bh\ufeffi\u2060j",
    "\ufeffbyte order mark first",
    "zero\u200dwidth\u200cjoiners and soft\u00adhyphen",
    "nul\x00in\x00the\x00middle\x01\x07\x1b[31mred\x7f",
    "https://example.org/a?b=c&d=%20#e user@example.com C:\\path\\file.txt",
    "snake_case CamelCase kebab-case SCREAMING_CASE x1y2z3 a.b.c...!!!???",
    "\u2581already\u2581marked\u2581 \u2581",
    "'s 't 're 've 'm 'll 'd 'S 'T 'RE ' s '\u017f '\u212a 'LL'd",
    "(a) [b] {c} <d> |e| «f» „g“ …h… -- — –",
    "\u0e33\u0e33 \u0301\u0301\u0301 \u0345 e\u0301\u0301\u0301 \u1100\u1161\u11a8 \uac01",
    "",
    " ",
    "\n",
    "a",
    "\U0001d400\U0001d7d8 \U00020000\U0002f800 \U0010ffff",
]
SPECIAL = [
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|im_end|><|im_end|> x<|im_end|>y <|im_en <|im_end",
    "a<tag>b <tag> <tagged> <tag",
    "<<tag>> <tag><tag>",
    "<tag>\n<|im_start|>",
    "<s>hello</s> <unk> <0x41> <0x0A>",
]


def long_words():
    return ["_" * 200, " " * 130, " " * 130 + "x", "a" * 300, "ab" * 150, "7" * 100, "\n" * 70, " \n" * 60,
            "Donaudampfschifffahrtsgesellschaft" * 6, "!" * 90, "é" * 90, "漢" * 80, "x " * 60]


def random_texts(seed, count):
    rng = random.Random(seed)
    pools = [list(s) for s in SAMPLES if len(s) > 3] + [list("abcdefghijklmnopqrstuvwxyz     ")] * 4
    texts = []
    for _ in range(count):
        some = rng.sample(pools, rng.randint(1, 4))
        texts.append("".join(rng.choice(rng.choice(some)) for _ in range(rng.randint(1, 50))))
    return texts


def training_lines():
    folder = "/usr/share/common-licenses"
    lines = list(SAMPLES) * 12
    for name in ("Apache-2.0", "Artistic", "CC0-1.0", "MPL-2.0"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        lines += [text[i:i + 160] for i in range(0, len(text), 160)]
    return lines


def write_blocks(name, blocks):
    with open(os.path.join(VECTORS, name), "w", encoding="ascii") as file:
        file.write("# Made by make_vectors.py: texts as hex, and the ids another library gives for them.\n")
        for text, answers in blocks:
            file.write("text %s\n" % text.encode().hex())
            for rule, ids in answers:
                file.write("ids %s: %s\n" % (rule, " ".join(map(str, ids))))


# ---- byte-level BPE -------------------------------------------------------------------------------

GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|"
        r"\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"


def regex_then_bytes(pattern):
    return [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]


def digits_then_gpt2():
    return [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False, use_regex=True)]


def gpt2():
    return [pre_tokenizers.ByteLevel(False, use_regex=True)]


def falcon():
    return [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False, use_regex=True),
            pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")]


# name in the file: pre-tokenizers, composes first, whole words before merges
def cut_then_bytes(*patterns):
    return [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns] + [pre_tokenizers.ByteLevel(False, use_regex=False)]


CAPITAL, SMALL = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def cased(tail, digits):
    """GPT-4o's rule, and Mistral's tekken."""
    return (rf"[^\r\n\p{{L}}\p{{N}}]?[{CAPITAL}]*[{SMALL}]+{tail}|[^\r\n\p{{L}}\p{{N}}]?[{CAPITAL}]+[{SMALL}]*{tail}|{digits}|"
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
             r"\s*[\r\n]+|\s+(?!\S)|\s+")
BAILING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
SEED = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+")

RULES = {
    "bailingmoe": (cut_then_bytes(BAILING), False, False),
    "deepseek-coder": (cut_then_bytes(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"), False, False),
    "deepseek-v3": (cut_then_bytes(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK3), False, False),
    "gpt-4o": (cut_then_bytes(cased("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}")), False, False),
    "qwen35": (cut_then_bytes(QWEN35), False, False),
    "seed-coder": (cut_then_bytes(SEED), False, False),
    "tekken": (cut_then_bytes(cased("", r"\p{N}")), False, True),
    "bloom": (regex_then_bytes(BLOOM), False, False),
    "falcon": (falcon(), False, False),
    "gpt-2": (gpt2(), False, False),
    "llama-bpe": (regex_then_bytes(GPT4 % r"\p{N}{1,3}"), False, True),
    "mpt": (gpt2(), True, False),
    "olmo": (gpt2(), True, False),
    "qwen2": (regex_then_bytes(GPT4 % r"\p{N}"), True, False),
    "refact": (digits_then_gpt2(), False, False),
    "smollm": (digits_then_gpt2(), False, False),
    "starcoder": (digits_then_gpt2(), False, False),
}


def bpe_reference(vocabulary, merges, rule, control, user):
    steps, composes, whole_words = RULES[rule]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=whole_words))
    if composes:
        made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(steps)
    made.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    made.add_tokens([AddedToken(t, special=False, normalized=False) for t in user])
    return made


def train_bpe(control, user):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=1100, show_progress=False, special_tokens=control,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    made.train_from_iterator(training_lines(), trainer)
    made.add_tokens([AddedToken(t, special=False, normalized=False) for t in user])
    model = json.loads(made.to_str())["model"]
    return made.get_vocab(), [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]


def make_bpe():
    control, user = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], ["<tag>", "<tag><tag>", "  \n"]
    vocabulary, merges = train_bpe(control, user)
    spellings = sorted(vocabulary, key=vocabulary.get)
    # A word that no merge reaches, for the rules that take whole words first.
    spellings.append("zebrazebra")
    whole = {s: i for i, s in enumerate(spellings)}
    writer = gguf.GGUFWriter(os.path.join(VECTORS, "bpe.gguf"), "none")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(spellings)
    writer.add_token_types([CONTROL if s in control else USER if s in user else NORMAL for s in spellings])
    writer.add_token_merges([" ".join(m) for m in merges])
    writer.add_bos_token_id(whole["<|im_start|>"])
    writer.add_eos_token_id(whole["<|im_end|>"])
    finish(writer)
    texts = SAMPLES + long_words() + ["zebrazebra xzebrazebra zebrazebra"] + random_texts(1, 60) + SPECIAL
    blocks = []
    references = {rule: bpe_reference(whole, merges, rule, control, user) for rule in RULES}
    for text in texts:
        answers = [(rule, reference.encode(text, add_special_tokens=False).ids)
                   for rule, reference in references.items()]
        blocks.append((text, answers))
    write_blocks("bpe.txt", blocks)


# ---- SentencePiece --------------------------------------------------------------------------------

SPM = {
    "bytes": dict(byte_fallback=True, add_dummy_prefix=True, remove_extra_whitespaces=False, vocab_size=700),
    "unknown": dict(byte_fallback=False, add_dummy_prefix=True, remove_extra_whitespaces=True, vocab_size=500),
    "across": dict(byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False, vocab_size=700,
                   split_by_whitespace=False, allow_whitespace_only_pieces=True, split_digits=True),
}


def train_spm(options):
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "m")
        lines = [l.replace("\n", " ").replace("\x00", "") for l in training_lines()]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(l for l in lines if l.strip()), model_prefix=prefix, model_type="bpe",
            normalization_rule_name="identity", user_defined_symbols=["<tag>", "<tag><tag>"],
            character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, **options)
        return sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")


def kind_of(model, i):
    return (UNKNOWN if model.is_unknown(i) else CONTROL if model.is_control(i) else UNUSED if model.is_unused(i)
            else BYTE if model.is_byte(i) else USER if model.id_to_piece(i).startswith("<tag>") else NORMAL)


def make_spm(name, options):
    model = train_spm(options)
    ids = range(model.get_piece_size())
    writer = gguf.GGUFWriter(os.path.join(VECTORS, "spm-%s.gguf" % name), "none")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([model.id_to_piece(i) for i in ids])
    writer.add_token_scores([model.get_score(i) for i in ids])
    writer.add_token_types([kind_of(model, i) for i in ids])
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    writer.add_unk_token_id(model.unk_id())
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(options["add_dummy_prefix"])
    writer.add_remove_extra_whitespaces(options["remove_extra_whitespaces"])
    finish(writer)
    texts = SAMPLES + long_words() + random_texts(2, 60) + SPECIAL
    write_blocks("spm-%s.txt" % name, [(text, [("spm", model.encode(text))]) for text in texts])


# ---- SentencePiece's unigram model -----------------------------------------------------------------

# A table small enough to keep, with what NFKC's has: one to one, one to many, many to one, and nothing at all.
TABLE = [("\uff21", "A"), ("\uff42", "b"), ("\ufb01", "fi"), ("e\u0301", "\u00e9"), ("\u00bd", "1\u20442"), ("\u00ad", ""),
         ("\u2003", " "), ("\u3000", " "), ("\n", " "), ("\t", " "), ("\r\n", " "), ("\u200b", " "), ("\u2460", "1"),
         ("s\u0323\u0307", "\u1e69"), ("s\u0323", "\u1e63"), ("\ufeff", ""), ("\u2026", "..."), ("\u00a0", " a ")]

UNIGRAM = {
    "bytes": dict(byte_fallback=True, add_dummy_prefix=True, remove_extra_whitespaces=False, vocab_size=700,
                  normalization_rule_name="identity", allow_whitespace_only_pieces=True),
    "table": dict(byte_fallback=False, add_dummy_prefix=True, remove_extra_whitespaces=True, vocab_size=500),
    "across": dict(byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False, vocab_size=700,
                   split_by_whitespace=False),
}


def write_table(folder, rules=TABLE):
    path = os.path.join(folder, "rules.tsv")
    with open(path, "w", encoding="ascii") as file:
        for head, becomes in rules:
            file.write("%s\t%s\n" % tuple(" ".join("%X" % ord(c) for c in t) for t in (head, becomes)))
    return path


def train_unigram(options):
    with tempfile.TemporaryDirectory() as folder:
        if "normalization_rule_name" not in options:
            options = dict(options, normalization_rule_tsv=write_table(folder))
        prefix = os.path.join(folder, "m")
        lines = [l.replace("\n", " ").replace("\x00", "") for l in training_lines()]
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(l for l in lines if l.strip()), model_prefix=prefix, model_type="unigram",
            user_defined_symbols=["<tag>", "<tag><tag>"], num_threads=1, character_coverage=0.98,
            hard_vocab_limit=False, minloglevel=2, **options)
        return sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")


def unigram_reference(model, options):
    """The tokenizers library on text that sentencepiece has changed. Both find a best cut, but where several score
    the same to the last digit: sentencepiece adds in single precision, so that rounding chooses, in long texts far from
    where they differ; the tokenizers library (and llama.cpp) add in double precision and take the longest last piece."""
    ids = range(model.get_piece_size())
    kinds = [kind_of(model, i) for i in ids]
    hidden = lambda i: kinds[i] in (CONTROL, UNKNOWN, UNUSED)
    pieces = [("\x00hidden%d" % i if hidden(i) else model.id_to_piece(i),
               -0.1 if kinds[i] == USER else model.get_score(i)) for i in ids]
    made = models.Unigram(pieces, model.unk_id(), options["byte_fallback"])
    encode = lambda text: Tokenizer(made).encode(text, add_special_tokens=False).ids
    score = lambda found: sum(pieces[i][1] for i in found)

    def ids_of(text):
        theirs, found = model.encode(text), encode(model.normalize(text))
        if "<0x" in text:  # the tokenizers library takes the text for the byte
            return theirs
        if theirs != found:
            assert sorted(theirs) == sorted(found) or abs(score(theirs) - score(found)) < 1e-12, (text, theirs, found)
            print("a tie: %r" % text[:60])
        return found
    return ids_of


def make_unigram(name, options):
    model = train_unigram(options)
    made = sentencepiece_model_pb2.ModelProto.FromString(model.serialized_model_proto())
    ids = range(model.get_piece_size())
    writer = gguf.GGUFWriter(os.path.join(VECTORS, "unigram-%s.gguf" % name), "none")
    writer.add_tokenizer_model("t5")
    writer.add_token_list([model.id_to_piece(i) for i in ids])
    writer.add_token_scores([model.get_score(i) for i in ids])
    writer.add_token_types([kind_of(model, i) for i in ids])
    if made.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(made.normalizer_spec.precompiled_charsmap)
    writer.add_bos_token_id(model.bos_id())
    writer.add_eos_token_id(model.eos_id())
    writer.add_unk_token_id(model.unk_id())
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(options["add_dummy_prefix"])
    writer.add_remove_extra_whitespaces(options["remove_extra_whitespaces"])
    finish(writer)
    more = ["\uff21\uff42\ufb01e\u0301\u00bd\u00ad x\u2003\u3000y\t\tz\r\nw", "\u3000 \u00a0\u00a0 b ", "<tag> \u00a0<tag>\u3000x",
            "s\u0323\u0307s\u0323xs\u0307 \u200b ", " <tag> ", "\u2581", " \u2581 a", "a  <tag>  b  <tag><tag>  "]
    texts = SAMPLES + more + long_words() + random_texts(4, 60) + SPECIAL
    ids_of = unigram_reference(model, options)
    write_blocks("unigram-%s.txt" % name, [(text, [("unigram", ids_of(text))]) for text in texts])


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


# ---- the default model ----------------------------------------------------------------------------

CONVERSATIONS = [
    [("user", "What is a whale?")],
    [("system", "Answer in one word."), ("user", "Hi"), ("assistant", "Hello"), ("user", "  spaces  \n\n and lines ")],
    [("user", "\n\nleading newlines"), ("assistant", ""), ("user", "")],
    [("user", "漢字 👍🏽 cafe\u0301"), ("assistant", "7 + 8 = 15")],
]


def read_default(path):
    fields = gguf.GGUFReader(path).fields
    get = lambda key: fields["tokenizer.ggml." + key].contents()
    spellings, kinds = get("tokens"), get("token_type")
    merges = [tuple(m.split(" ")) for m in get("merges")]
    control = [s for s, k in zip(spellings, kinds) if k == CONTROL]
    whole = {s: i for i, s in enumerate(spellings)}
    return (bpe_reference(whole, merges, "smollm", control, []), spellings,
            fields["tokenizer.chat_template"].contents())


def spellable(text, spellings):
    """The library drops bytes that this vocabulary has no token for; ours shows U+FFFD instead."""
    letters = set(s for s in spellings if len(s) == 1)
    shown = pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(text)
    return all(c in letters for piece, _ in shown for c in piece)


def make_default(path):
    import jinja2
    reference, spellings, template = read_default(path)
    texts = [t for t in SAMPLES + long_words() + random_texts(3, 120) if spellable(t, spellings)]
    plain = reference.encode
    write_blocks("default.txt", [(t, [("smollm", plain(t, add_special_tokens=False).ids)]) for t in texts])
    render = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(template).render
    with open(os.path.join(VECTORS, "default-chat.txt"), "w", encoding="ascii") as file:
        file.write("# Made by make_vectors.py: messages, and what Jinja and the tokenizers library make of them.\n")
        for messages in CONVERSATIONS:
            for open_answer in (False, True):
                listed = [{"role": role, "content": content} for role, content in messages]
                text = render(messages=listed, add_generation_prompt=open_answer)
                for role, content in messages:
                    file.write("message %s %s\n" % (role, content.encode().hex()))
                file.write("%s %s\n" % ("open" if open_answer else "closed", text.encode().hex()))
                ids = plain(text, add_special_tokens=False).ids
                file.write("ids chat: %s\n" % " ".join(map(str, ids)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--default", metavar="MODEL.gguf")
    options = parser.parse_args()
    os.makedirs(VECTORS, exist_ok=True)
    if options.default:
        make_default(options.default)
        return
    make_bpe()
    for name, settings in SPM.items():
        make_spm(name, settings)
    for name, settings in UNIGRAM.items():
        make_unigram(name, settings)


if __name__ == "__main__":
    main()
