# llama.cpp's own HTTP server with a tiny model of random weights: argv is the model's file, which is written, and the port.

import os
import signal
import sys

import numpy as np
import xllamacpp
from gguf import GGUFWriter, TokenType

WIDTH, LAYERS, HEADS, FEED = 64, 2, 4, 128


def write_model(file):
    rng = np.random.default_rng(1)
    # One token for each byte: a prompt of ASCII letters has as many tokens as letters, and a few in front.
    tokens = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % byte for byte in range(256)]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256
    model = GGUFWriter(file, "llama")
    model.add_name("tiny")
    model.add_context_length(4096)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(FEED)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("llama")
    model.add_token_list(tokens)
    model.add_token_scores([0.0] * len(tokens))
    model.add_token_types([int(kind) for kind in kinds])
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)
    model.add_unk_token_id(0)

    def add(name, *shape):
        ones = name.endswith("norm.weight")
        values = np.ones(shape) if ones else rng.normal(0, 0.05, shape)
        model.add_tensor(name, values.astype(np.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH)
    add("output.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        add(block + "attn_norm.weight", WIDTH)
        add(block + "ffn_norm.weight", WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}{name}.weight", WIDTH, WIDTH)
        add(block + "ffn_gate.weight", FEED, WIDTH)
        add(block + "ffn_up.weight", FEED, WIDTH)
        add(block + "ffn_down.weight", WIDTH, FEED)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


file, port = sys.argv[1:3]
write_model(file)
params = xllamacpp.CommonParams()
params.model.path = file
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.endpoint_metrics = True
params.n_ctx = 4096
params.n_parallel = 2
params.cpuparams.n_threads = 1
server = xllamacpp.Server(params)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("listening at", server.listening_address, flush=True)
signal.pause()
