"""The project's attention kernels, called on PyTorch tensors through libkernels.so.

SPDX-License-Identifier: Apache-2.0
"""
import ctypes as c
import math

import torch

PAGE = 128
DECODE_ROWS = 16
BF16, F16, Q8_0 = 2, 1, 7  # enum dtype
AUTO, MMA, HOPPER = 0, 1, 2
KERNELS = {"auto": AUTO, "mma": MMA, "hopper": HOPPER}


class Sequence(c.Structure):
    _fields_ = [(n, c.c_int32) for n in ("first_row", "rows", "start", "first_page", "holes")]


class Turn(c.Structure):
    _fields_ = [("turns", c.c_void_p), ("rotary_dim", c.c_int), ("adjacent", c.c_bool)]


class Fresh(c.Structure):
    _fields_ = [("in_type", c.c_int), ("q", c.c_void_p), ("k", c.c_void_p), ("v", c.c_void_p), ("q_stride", c.c_int64),
                ("k_stride", c.c_int64), ("v_stride", c.c_int64), ("q_turn", Turn), ("k_turn", Turn)]


class Call(c.Structure):
    _fields_ = [("dtype", c.c_int), ("out_type", c.c_int), ("cache_type", c.c_int), ("heads", c.c_int),
                ("kv_heads", c.c_int), ("head_dim", c.c_int), ("scale", c.c_float), ("softcap", c.c_float), ("window", c.c_int), ("sinks", c.c_int),
                ("slopes", c.c_void_p), ("reach", c.c_float), ("q", c.c_void_p), ("out", c.c_void_p),
                ("rows", c.c_int64), ("q_stride", c.c_int64), ("out_stride", c.c_int64), ("k", c.c_void_p),
                ("v", c.c_void_p), ("k_norms", c.c_void_p), ("pages", c.c_void_p), ("sequences", c.c_void_p),
                ("tiles", c.c_void_p), ("tile_count", c.c_int), ("tile_rows", c.c_int), ("heads_together", c.c_int), ("fresh", Fresh),
                ("parts", c.c_void_p), ("part_count", c.c_int), ("partial", c.c_void_p), ("tickets", c.c_void_p)]


class PlaceCall(c.Structure):
    _fields_ = [("in_type", c.c_int), ("heads", c.c_int), ("kv_heads", c.c_int), ("head_dim", c.c_int),
                ("q", c.c_void_p), ("k", c.c_void_p), ("v", c.c_void_p), ("q_stride", c.c_int64),
                ("k_stride", c.c_int64), ("v_stride", c.c_int64), ("q_turn", Turn), ("k_turn", Turn),
                ("q_out", c.c_void_p), ("q_out_stride", c.c_int64), ("q_type", c.c_int), ("cache_type", c.c_int),
                ("k_pages", c.c_void_p), ("v_pages", c.c_void_p), ("k_norms", c.c_void_p), ("pages", c.c_void_p),
                ("sequences", c.c_void_p), ("sequence_count", c.c_int), ("max_rows", c.c_int)]


class Shape(c.Structure):
    _fields_ = [(n, c.c_int) for n in ("heads", "kv_heads", "tile_rows", "blocks", "packed", "spread")]


class Counts(c.Structure):
    _fields_ = [("tiles", c.c_int), ("parts", c.c_int), ("slots", c.c_int)]


def load(path):
    lib = c.CDLL(path)
    lib.attention_plan_count.restype = Counts
    mine = [c.sizeof(t) for t in (Sequence, Call, PlaceCall, Shape, Counts)]
    theirs = list((c.c_size_t * len(mine)).in_dll(lib, "kernel_sizes"))
    if mine != theirs:
        raise RuntimeError(f"kernels.py describes structs of {mine} bytes, but {path} has {theirs}")
    return lib


def slopes(heads, device="cuda"):
    power = 1 << (heads.bit_length() - 1)
    values = [2.0 ** (-8.0 / power * (h + 1)) if h < power else 2.0 ** (-4.0 / power * (2 * (h - power) + 1))
              for h in range(heads)]
    return torch.tensor(values, dtype=torch.float32, device=device)


def device_bytes(array):
    return torch.frombuffer(bytearray(bytes(array)), dtype=torch.uint8).cuda()


class Attention:
    """One call: q [rows, heads, dim], k and v [keys of all sequences, kv_heads, dim], sequences [(start, rows)]."""

    def __init__(self, lib, q, k, v, sequences, alibi=False, reach=0.0, window=0, sinks=0, kernel="auto", shuffle=True, packed=False):
        self.lib, self.kernel = lib, KERNELS[kernel]
        self.heads, self.kv_heads, dim = q.shape[1], k.shape[1], q.shape[2]
        self.q, self.out = q, torch.empty_like(q)
        count = len(sequences)
        whole, new, tables, row, key = (Sequence * count)(), (Sequence * count)(), [], 0, 0
        for i, (start, rows) in enumerate(sequences):
            pages = (start + rows + PAGE - 1) // PAGE
            whole[i] = Sequence(key, start + rows, 0, len(tables), 0)
            new[i] = Sequence(row, rows, start, len(tables), 0)
            tables += [0] * pages
            row, key = row + rows, key + start + rows
        order = torch.randperm if shuffle else torch.arange
        self.pages = order(len(tables), device="cuda").to(torch.int32)
        if packed:  # Q8_0: place.h
            self.k = torch.empty(len(tables), self.kv_heads, PAGE * dim // 32 * 34, dtype=torch.uint8, device="cuda")
        else:
            self.k = torch.empty(len(tables), self.kv_heads, PAGE, dim, dtype=q.dtype, device="cuda")
        self.v = torch.empty_like(self.k)
        self.norms = torch.empty(len(tables), self.kv_heads, device="cuda")
        self.slopes = slopes(self.heads) if alibi else None
        self.sequences, everything = device_bytes(new), device_bytes(whole)
        code = BF16 if q.dtype == torch.bfloat16 else F16
        cache = Q8_0 if packed else code
        fill = PlaceCall(in_type=code, cache_type=cache, kv_heads=self.kv_heads, head_dim=dim, k=k.data_ptr(),
                         v=v.data_ptr(), k_stride=k.stride(0), v_stride=v.stride(0), k_pages=self.k.data_ptr(),
                         v_pages=self.v.data_ptr(), k_norms=self.norms.data_ptr(), pages=self.pages.data_ptr(),
                         sequences=everything.data_ptr(), sequence_count=count,
                         max_rows=max(s + r for s, r in sequences))
        self.check(lib.place(c.byref(fill), self.stream()))
        torch.cuda.synchronize()
        call = Call(dtype=code, out_type=code, cache_type=cache, heads=self.heads, kv_heads=self.kv_heads, head_dim=dim, scale=1 / math.sqrt(dim),
                    window=window, sinks=sinks, slopes=self.slopes.data_ptr() if alibi else None, reach=reach,
                    q=q.data_ptr(), out=self.out.data_ptr(), rows=row, q_stride=q.stride(0), out_stride=self.out.stride(0),
                    k=self.k.data_ptr(), v=self.v.data_ptr(), k_norms=self.norms.data_ptr(), pages=self.pages.data_ptr(),
                    sequences=self.sequences.data_ptr())
        call.tile_rows = lib.attention_tile_rows(c.byref(call), self.kernel)
        blocks = lib.attention_decode_blocks()
        shape = Shape(self.heads, self.kv_heads, call.tile_rows, blocks, lib.attention_decode_rows(cache),
                      lib.attention_spread(blocks, self.kv_heads))
        n = lib.attention_plan_count(new, count, c.byref(shape))
        tiles, parts = (c.c_int32 * (2 * n.tiles))(), (c.c_int32 * (11 * n.parts))()
        lib.attention_plan_fill(new, count, c.byref(shape), tiles, parts)
        self.tiles, self.parts = device_bytes(tiles) if n.tiles else None, device_bytes(parts) if n.parts else None
        slots = n.slots * self.kv_heads
        self.partial = torch.empty(max(1, slots * DECODE_ROWS * (dim + 2)), device="cuda")
        self.tickets = torch.zeros(2 + slots, dtype=torch.int32, device="cuda")
        call.tiles, call.tile_count = self.tiles.data_ptr() if n.tiles else None, n.tiles
        call.parts, call.part_count = self.parts.data_ptr() if n.parts else None, n.parts
        call.heads_together = lib.attention_heads_together(self.heads, self.kv_heads, dim,
                                                           c.c_int64(max(s + r for s, r in sequences)))
        call.partial, call.tickets = self.partial.data_ptr(), self.tickets.data_ptr()
        self.call = call

    @staticmethod
    def stream():
        return c.c_void_p(torch.cuda.current_stream().cuda_stream)

    @staticmethod
    def check(error):
        if error:
            raise RuntimeError(f"a kernel launch failed with CUDA error {error}")

    def __call__(self):
        if self.call.tile_count:
            self.check(self.lib.attention_prefill(c.byref(self.call), self.kernel, self.stream()))
        if self.call.part_count:
            self.check(self.lib.attention_decode(c.byref(self.call), self.stream()))
        return self.out
