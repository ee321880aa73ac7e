"""llama.cpp through llama-cpp-python's low-level calls: the same parts, under the same names.
SPDX-License-Identifier: Apache-2.0
"""
import ctypes as c

import llama_cpp as ll
import numpy as np

BATCH = 512


@ll.llama_log_callback
def quiet(level, text, user):
    pass


class Model:
    def __init__(self, path):
        ll.llama_log_set(quiet, c.c_void_p(0))
        ll.llama_backend_init()
        self.handle = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
        if not self.handle:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        self.vocab = ll.llama_model_get_vocab(self.handle)
        self.size = ll.llama_vocab_n_tokens(self.vocab)

    def tokenize(self, text, start):
        raw = text.encode()
        out = (ll.llama_token * (len(raw) + 2))()
        count = ll.llama_tokenize(self.vocab, raw, len(raw), out, len(out), start, False)
        assert count >= 0
        return list(out[:count])

    def close(self):
        ll.llama_model_free(self.handle)


class Session:
    def __init__(self, model, context, threads, cache_type=ll.GGML_TYPE_F16):
        parameters = ll.llama_context_default_params()
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = context, BATCH, BATCH
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.type_k = parameters.type_v = cache_type
        if cache_type != ll.GGML_TYPE_F16:
            parameters.flash_attn_type = ll.LLAMA_FLASH_ATTN_TYPE_ENABLED # it keeps quantised values with this attention only
        self.model = model
        self.handle = ll.llama_init_from_model(model.handle, parameters)
        if not self.handle:
            raise RuntimeError("llama.cpp cannot open a context")
        self.batch = ll.llama_batch_init(BATCH, 0, 1)
        self.position = 0

    def clear(self):
        ll.llama_memory_clear(ll.llama_get_memory(self.handle), True)
        self.position = 0

    def rewind(self, position):
        ll.llama_memory_seq_rm(ll.llama_get_memory(self.handle), 0, position, -1)
        self.position = position

    def _decode(self, tokens, every_row):
        for i, token in enumerate(tokens):
            self.batch.token[i] = token
            self.batch.pos[i] = self.position + i
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = 0
            self.batch.logits[i] = every_row or i == len(tokens) - 1
        self.batch.n_tokens = len(tokens)
        if ll.llama_decode(self.handle, self.batch) != 0:
            raise RuntimeError("llama.cpp failed to decode")
        self.position += len(tokens)

    def extend(self, tokens):
        for i in range(0, len(tokens), BATCH):
            self._decode(tokens[i:i + BATCH], False)

    def logits(self):
        return np.ctypeslib.as_array(ll.llama_get_logits_ith(self.handle, -1), (self.model.size,))

    def score(self, tokens):
        self.clear()
        out = [0.0]
        for i in range(0, len(tokens), BATCH):
            piece = tokens[i:i + BATCH]
            self._decode(piece, True)
            rows = np.ctypeslib.as_array(ll.llama_get_logits(self.handle), (len(piece), self.model.size))
            for row, following in zip(rows, tokens[i + 1:i + 1 + len(piece)]):
                peak = row.max()
                out.append(float(row[following] - peak - np.log(np.exp(row - peak, dtype=np.float64).sum())))
        return out

    def greedy(self, count):
        out = []
        for _ in range(count):
            out.append(int(self.logits().argmax()))
            self._decode(out[-1:], False)
        return out

    def close(self):
        ll.llama_batch_free(self.batch)
        ll.llama_free(self.handle)
