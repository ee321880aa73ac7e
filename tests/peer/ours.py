"""liblongleaf through ctypes: the parts of the public API that comparisons with other engines need.
SPDX-License-Identifier: Apache-2.0

Needs nothing but Python and the built library. Every options struct is filled by its _init function and
its size checked, so a header that moved on is refused, not misread.
"""
import ctypes as c

API_VERSION = 1
LL_OK = 0
F32, F16, BF16, Q8_0 = range(4)
CONTINUE = 0

size_t, pointer = c.c_size_t, c.c_void_p


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("offset", c.c_int64), ("where", c.c_char * 64), ("text", c.c_char * 512)]


class EngineOptions(c.Structure):
    _fields_ = [("size", size_t), ("threads", c.c_int), ("backend_path", c.c_char_p), ("device", c.c_char_p),
                ("memory", c.c_uint64)]


class Adapter(c.Structure):
    _fields_ = [("path", c.c_char_p), ("scale", c.c_float)]


class ModelOptions(c.Structure):
    _fields_ = [("size", size_t), ("metadata_only", c.c_bool), ("set_meta", pointer), ("set_meta_count", size_t),
                ("adapters", pointer), ("adapter_count", size_t), ("gpu_layers", c.c_int), ("context", size_t)]


class SessionOptions(c.Structure):
    _fields_ = [("size", size_t), ("context", size_t), ("cache_type", c.c_int)]


class Sampling(c.Structure):
    _fields_ = [("size", size_t), ("temperature", c.c_float), ("top_k", c.c_int), ("top_p", c.c_float),
                ("min_p", c.c_float), ("repeat_penalty", c.c_float), ("presence_penalty", c.c_float),
                ("frequency_penalty", c.c_float), ("penalty_window", c.c_int), ("seed", c.c_uint64),
                ("choices", c.c_int), ("ignore_end", c.c_bool), ("stop", pointer), ("stop_count", size_t),
                ("typical_p", c.c_float), ("xtc_probability", c.c_float), ("xtc_threshold", c.c_float),
                ("mirostat", c.c_int), ("mirostat_tau", c.c_float), ("mirostat_eta", c.c_float),
                ("dry_multiplier", c.c_float), ("dry_base", c.c_float), ("dry_length", c.c_int),
                ("dry_window", c.c_int), ("dry_breakers", pointer), ("dry_breaker_count", size_t),
                ("bias", pointer), ("bias_count", size_t), ("grammar", c.c_char_p), ("grammar_file", c.c_char_p),
                ("json_schema", c.c_char_p), ("json_schema_file", c.c_char_p), ("lookup", c.c_bool)]


class DeviceInfo(c.Structure):
    _fields_ = [("kind", c.c_int), ("name", c.c_char * 128), ("backend", c.c_char * 32)]


class Failed(Exception):
    pass


class Library:
    def __init__(self, path):
        self.so = c.CDLL(path)
        for name in ("ll_version", "ll_status_name"):
            getattr(self.so, name).restype = c.c_char_p
        self.so.ll_session_logits.restype = c.POINTER(c.c_float)
        self.so.ll_session_tokens.restype = c.POINTER(c.c_int32)
        if self.so.ll_api_version() != API_VERSION:
            raise Failed(f"{path} has API version {self.so.ll_api_version()}, this binding knows {API_VERSION}")

    def version(self):
        return self.so.ll_version().decode()

    def options(self, kind, init):
        options = kind()
        getattr(self.so, init)(c.byref(options))
        if options.size != c.sizeof(kind):
            raise Failed(f"{init} says {options.size} bytes, the binding {c.sizeof(kind)}: update it")
        return options

    def call(self, name, *arguments):
        """A function that returns a status and takes an error last."""
        error = Error()
        status = getattr(self.so, name)(*arguments, c.byref(error))
        if status != LL_OK:
            name = self.so.ll_status_name(status).decode()
            raise Failed(f"{name}: {error.where.decode()}: {error.text.decode()}")


class Engine:
    def __init__(self, library, threads, device="auto"):
        self.library = library
        self.device_text = device.encode()
        options = library.options(EngineOptions, "ll_engine_options_init")
        options.threads, options.device = threads, self.device_text
        self.handle = pointer()
        library.call("ll_engine_open", c.byref(options), c.byref(self.handle))

    def device(self):
        info = DeviceInfo()
        self.library.so.ll_engine_get_device(self.handle, size_t(0), c.byref(info))
        return f"{info.backend.decode()} on {info.name.decode()}"

    def close(self):
        self.library.so.ll_engine_close(self.handle)


class Model:
    def __init__(self, engine, path, options=None):
        self.engine, self.library = engine, engine.library
        self.handle = pointer()
        self.library.call("ll_model_open", engine.handle, path.encode(), c.byref(options) if options else None, None,
                          c.byref(self.handle))

    def tokenize(self, text, start):
        raw = text.encode()
        count = size_t()
        call = lambda out, room: self.library.call("ll_tokenize", self.handle, raw, size_t(len(raw)), c.c_bool(False),
                                                   c.c_bool(start), out, size_t(room), c.byref(count))
        call(None, 0)
        out = (c.c_int32 * count.value)()
        call(out, count.value)
        return list(out[:count.value])

    def detokenize(self, tokens):
        ids = (c.c_int32 * len(tokens))(*tokens)
        length = size_t()
        out = c.create_string_buffer(256 * len(tokens) + 1)
        self.library.call("ll_detokenize", self.handle, ids, size_t(len(tokens)), out, size_t(len(out)),
                          c.byref(length))
        return out.raw[:length.value].decode(errors="replace")

    def close(self):
        self.library.so.ll_model_close(self.handle)


class Session:
    def __init__(self, model, context, cache_type=F16):
        self.library = model.library
        options = self.library.options(SessionOptions, "ll_session_options_init")
        options.context, options.cache_type = context, cache_type
        self.handle = pointer()
        self.library.call("ll_session_open", model.handle, c.byref(options), c.byref(self.handle))

    def score(self, tokens):
        """Natural logarithm of each token's probability given all before it; 0 for the first."""
        ids = (c.c_int32 * len(tokens))(*tokens)
        out = (c.c_float * len(tokens))()
        self.library.call("ll_session_score", self.handle, ids, size_t(len(tokens)), out, None)
        return list(out)

    def sync(self, tokens):
        ids = (c.c_int32 * len(tokens))(*tokens)
        self.library.call("ll_session_sync", self.handle, ids, size_t(len(tokens)), None)

    def logits(self):
        """Of the last token; a view that lives until the next call."""
        count = size_t()
        at = self.library.so.ll_session_logits(self.handle, c.byref(count))
        return c.cast(at, c.POINTER(c.c_float * count.value)).contents

    def greedy(self, count):
        """Exactly count tokens, past the end of an answer."""
        sampling = self.library.options(Sampling, "ll_sampling_init")
        sampling.temperature, sampling.ignore_end = 0.0, True
        before = self.position()
        finish = c.c_int()
        self.library.call("ll_generate", self.handle, c.byref(sampling), size_t(count), None, c.byref(finish))
        total = size_t()
        at = self.library.so.ll_session_tokens(self.handle, c.byref(total))
        return list(at[before:total.value])

    def position(self):
        self.library.so.ll_session_position.restype = size_t
        return self.library.so.ll_session_position(self.handle)

    def close(self):
        self.library.so.ll_session_close(self.handle)


STRUCTS = {"ll_error": Error, "ll_engine_options": EngineOptions, "ll_session_options": SessionOptions,
           "ll_adapter": Adapter, "ll_model_options": ModelOptions,
           "ll_sampling": Sampling, "ll_device_info": DeviceInfo}


def assertions():
    """C lines that only compile where the header lays these structs out as the binding does."""
    for name, kind in STRUCTS.items():
        yield f'_Static_assert(sizeof({name}) == {c.sizeof(kind)}, "{name}");'
        for field, _ in kind._fields_:
            yield f'_Static_assert(offsetof({name}, {field}) == {getattr(kind, field).offset}, "{name}.{field}");'


if __name__ == "__main__":
    print("#include <stddef.h>", '#include "longleaf.h"', *assertions(), sep="\n")
