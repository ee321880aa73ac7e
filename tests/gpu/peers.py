"""Other people's attention kernels on the same tensors: PyTorch's SDPA, flex_attention, cuDNN's frontend.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import math

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

try:
    import cudnn
except ImportError:
    cudnn = None


def available():
    return "SDPA cuDNN, flex_attention" + (f", cuDNN frontend {cudnn.__version__}" if cudnn else "")


def heads_first(x):
    """[tokens, heads, dim] as [1, heads, tokens, dim]."""
    return x.transpose(0, 1).unsqueeze(0).contiguous()


def sdpa_cudnn(q, k, v, **options):
    def way():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
    return way


@functools.cache
def compiled_flex():
    return torch.compile(flex_attention, dynamic=False)


def causal(batch, head, row, column):
    return row >= column


def flex_alibi(q, k, v, slopes):
    def bias(score, batch, head, row, column):
        return score - slopes[head] * (row - column)

    mask = create_block_mask(causal, None, None, q.shape[2], k.shape[2], device="cuda")
    return lambda: compiled_flex()(q, k, v, score_mod=bias, block_mask=mask)


def flex_alibi_decode(q, k, v, slopes):
    last = k.shape[2] - 1

    def bias(score, batch, head, row, column):
        return score - slopes[head] * (last - column)

    def all_keys(batch, head, row, column):
        return column <= last

    mask = create_block_mask(all_keys, None, None, 1, k.shape[2], device="cuda", BLOCK_SIZE=128)
    return lambda: compiled_flex()(q, k, v, score_mod=bias, block_mask=mask, enable_gqa=True)


def cudnn_alibi(q, k, v, window=None):
    """cuDNN's own ALiBi flag (its slopes are the standard ones for a power of two)."""
    handle = cudnn.create_handle()
    cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
    graph = cudnn.pygraph(io_data_type=cudnn.data_type.BFLOAT16, intermediate_data_type=cudnn.data_type.FLOAT,
                          compute_data_type=cudnn.data_type.FLOAT, handle=handle)
    names = [graph.tensor_like(x) for x in (q, k, v)]
    options = {"use_alibi_mask": True, "use_causal_mask": True}
    if window:
        options["sliding_window_length"] = window
    result, _ = graph.sdpa(name="sdpa", q=names[0], k=names[1], v=names[2], is_inference=True,
                           attn_scale=1 / math.sqrt(q.shape[-1]), **options)
    out = torch.empty_like(q)
    result.set_output(True).set_dim(list(out.shape)).set_stride(list(out.stride()))
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A])
    graph.check_support()
    graph.build_plans()
    scratch = torch.empty(graph.get_workspace_size(), device="cuda", dtype=torch.uint8)
    pack = dict(zip(names + [result], (q, k, v, out)))

    def way():
        cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute(pack, scratch, handle=handle)
        return out
    return way


def add(ways, name, make):
    """Takes the peer in when it can be built and run; says so when not."""
    try:
        way = make()
        way()
        torch.cuda.synchronize()
        ways[name] = way
    except Exception as error:  # a peer's failure must not end the run
        print(f"    ({name} is left out: {type(error).__name__}: {str(error).splitlines()[0][:120]})")


def prefill(q, k, v, slopes, with_flex):
    q, k, v = heads_first(q), heads_first(k), heads_first(v)
    ways = {}
    add(ways, "sdpa cudnn", lambda: sdpa_cudnn(q, k, v, is_causal=True))
    if cudnn:
        add(ways, "cudnn alibi", lambda: cudnn_alibi(q, k, v))
        add(ways, "cudnn alibi+window", lambda: cudnn_alibi(q, k, v, 4096))
    if with_flex:
        add(ways, "flex alibi", lambda: flex_alibi(q, k, v, slopes))
    return ways


def decode(q, k, v, batch, slopes, with_flex):
    shape = (batch, k.shape[0] // batch, k.shape[1], k.shape[2])
    k, v = (x.view(shape).transpose(1, 2).contiguous() for x in (k, v))
    q = q.view(batch, 1, q.shape[1], q.shape[2]).transpose(1, 2).contiguous()
    ways = {}
    add(ways, "sdpa cudnn", lambda: sdpa_cudnn(q, k, v, enable_gqa=True))
    if with_flex:
        add(ways, "flex alibi", lambda: flex_alibi_decode(q, k, v, slopes))
    return ways


def difference(mine, theirs):
    """Relative, of [tokens, heads, dim] and [1, heads, tokens, dim]."""
    if theirs is None:
        return None
    a, b = mine().float(), theirs()[0].transpose(0, 1).float()
    return ((a - b).norm() / b.norm()).item()
