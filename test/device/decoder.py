#!/usr/bin/env python3
"""A decoder with random weights behind a small OpenAI-style server that exposes vLLM's metric names, to hold token and
energy figures against known prompt and answer lengths.

    python3 test/device/decoder.py --port 8000 [--dry]

    POST /v1/completions  {"prompt_tokens": 512, "max_tokens": 64}   a request of known lengths
    GET  /metrics         vLLM's names
    GET  /stats           its own counts, and the hardware's energy counter read past gpulse

Requests of equal lengths that wait are computed as one batch: the prompts at once, then one step for each token. A step reads
the whole KV cache whatever the position, so that each costs the same. With --dry no GPU is used: it sleeps.
"""
import argparse
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from work import Counter

MODEL = "random-decoder"
LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY = 24, 4096, 32, 8, 11008, 32000
HEAD = WIDTH // HEADS
MOST_BATCH, MOST_TOKENS = 64, 1280
FIRST_TOKEN_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
STEP_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]


class DryDecoder:
    def prefill(self, batch, tokens):
        time.sleep(batch * tokens * 1e-6)

    def step(self, batch, position):
        time.sleep(0.004)


class Decoder:
    def __init__(self):
        import torch

        self.torch = torch
        torch.manual_seed(1)
        self.dtype = torch.bfloat16

        def weight(*shape):
            return torch.randn(*shape, device="cuda", dtype=self.dtype) * 0.02

        self.embedding = weight(VOCABULARY, WIDTH)
        self.layers = [
            {
                "qkv": weight(WIDTH, (HEADS + 2 * KV_HEADS) * HEAD),
                "out": weight(WIDTH, WIDTH),
                "up": weight(WIDTH, 2 * HIDDEN),
                "down": weight(HIDDEN, WIDTH),
                "keys": torch.zeros(MOST_BATCH, KV_HEADS, MOST_TOKENS, HEAD, device="cuda", dtype=self.dtype),
                "values": torch.zeros(MOST_BATCH, KV_HEADS, MOST_TOKENS, HEAD, device="cuda", dtype=self.dtype),
            }
            for _ in range(LAYERS)
        ]
        self.graphs = {}

    def project(self, layer, x):
        batch, tokens, _ = x.shape
        q, k, v = (x @ layer["qkv"]).split([HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD], dim=-1)
        part = lambda t, heads: t.view(batch, tokens, heads, HEAD).transpose(1, 2)
        return part(q, HEADS), part(k, KV_HEADS), part(v, KV_HEADS)

    def finish(self, layer, x, attention):
        batch, _, tokens, _ = attention.shape
        functional = self.torch.nn.functional
        x = x + attention.transpose(1, 2).reshape(batch, tokens, WIDTH) @ layer["out"]
        up, gate = (functional.rms_norm(x, (WIDTH,)) @ layer["up"]).chunk(2, dim=-1)
        return x + (up * functional.silu(gate)) @ layer["down"]

    def prefill(self, batch, tokens):
        torch = self.torch
        functional = torch.nn.functional
        with torch.inference_mode():
            # In slices of at most 16,384 tokens, so that activations stay small.
            most = max(1, 16384 // tokens)
            for first in range(0, batch, most):
                rows = slice(first, min(batch, first + most))
                ids = torch.randint(0, VOCABULARY, (rows.stop - rows.start, tokens), device="cuda")
                x = self.embedding[ids]
                for layer in self.layers:
                    q, k, v = self.project(layer, functional.rms_norm(x, (WIDTH,)))
                    layer["keys"][rows, :, :tokens] = k
                    layer["values"][rows, :, :tokens] = v
                    attention = functional.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1, enable_gqa=True)
                    x = self.finish(layer, x, attention)
                (x[:, -1] @ self.embedding.T).argmax(-1)
            torch.cuda.synchronize()

    def step(self, batch, position):
        if batch not in self.graphs:
            self.graphs[batch] = self.capture(batch)
        graph, at = self.graphs[batch]
        at.fill_(position)
        graph.replay()
        self.torch.cuda.synchronize()

    def capture(self, batch):
        """One step as a CUDA graph: launching some hundred kernels would take longer than running them."""
        torch = self.torch
        at = torch.zeros(1, dtype=torch.long, device="cuda")
        ids = torch.zeros(batch, 1, dtype=torch.long, device="cuda")
        places = torch.arange(MOST_TOKENS, device="cuda")
        functional = torch.nn.functional

        def work():
            mask = (places <= at).view(1, 1, 1, MOST_TOKENS)
            x = self.embedding[ids]
            for layer in self.layers:
                q, k, v = self.project(layer, functional.rms_norm(x, (WIDTH,)))
                keys, values = layer["keys"][:batch], layer["values"][:batch]
                keys.index_copy_(2, at, k)
                values.index_copy_(2, at, v)
                attention = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
                x = self.finish(layer, x, attention)
            ids.copy_((x[:, -1] @ self.embedding.T).argmax(-1, keepdim=True))

        with torch.inference_mode():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    work()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                work()
            torch.cuda.synchronize()
        return graph, at


class Histogram:
    def __init__(self, bounds):
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value, times=1):
        at = next((at for at, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        self.counts[at] += times
        self.sum += value * times

    def lines(self, name, labels):
        total = 0
        for bound, count in zip([*map(float, self.bounds), "+Inf"], self.counts):
            total += count
            yield f'{name}_bucket{{{labels},le="{bound}"}} {total}'
        yield f"{name}_count{{{labels}}} {total}"
        yield f"{name}_sum{{{labels}}} {self.sum}"


class Server:
    def __init__(self, decoder, counter):
        self.decoder, self.counter = decoder, counter
        self.lock = threading.Lock()
        self.waiting = queue.Queue()
        self.held = []
        self.running = 0
        self.prompt_tokens = self.generated_tokens = self.requests = 0
        self.first_token = Histogram(FIRST_TOKEN_BOUNDS)
        self.between = Histogram(STEP_BOUNDS)
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            first = self.held.pop(0) if self.held else self.waiting.get()
            batch = [first]
            # A moment for those that were sent together to arrive.
            time.sleep(0.002)
            rest = self.held
            self.held = []
            while not self.waiting.empty():
                rest.append(self.waiting.get_nowait())
            for one in rest:
                (batch if one[:2] == first[:2] and len(batch) < MOST_BATCH else self.held).append(one)
            self.compute(batch)

    def compute(self, batch):
        prompt, answer = batch[0][:2]
        self.running = len(batch)
        self.decoder.prefill(len(batch), prompt)
        now = time.time()
        with self.lock:
            self.prompt_tokens += prompt * len(batch)
            # The prompt's last position gives the first token.
            self.generated_tokens += len(batch)
            for one in batch:
                self.first_token.observe(now - one[2])
        for token in range(1, answer):
            self.decoder.step(len(batch), prompt + token - 1)
            before, now = now, time.time()
            with self.lock:
                self.generated_tokens += len(batch)
                self.between.observe(now - before, len(batch))
        with self.lock:
            self.requests += len(batch)
            self.running = 0
        for one in batch:
            one[3].set()

    def page(self):
        labels = f'model_name="{MODEL}",engine="0"'
        with self.lock:
            lines = [
                "# TYPE vllm:num_requests_running gauge",
                f"vllm:num_requests_running{{{labels}}} {self.running}",
                "# TYPE vllm:num_requests_waiting gauge",
                f"vllm:num_requests_waiting{{{labels}}} {self.waiting.qsize() + len(self.held)}",
                "# TYPE vllm:prompt_tokens_total counter",
                f"vllm:prompt_tokens_total{{{labels}}} {self.prompt_tokens}",
                "# TYPE vllm:generation_tokens_total counter",
                f"vllm:generation_tokens_total{{{labels}}} {self.generated_tokens}",
                "# TYPE vllm:request_success_total counter",
                f'vllm:request_success_total{{{labels},finished_reason="length"}} {self.requests}',
                "# TYPE vllm:time_to_first_token_seconds histogram",
                *self.first_token.lines("vllm:time_to_first_token_seconds", labels),
                "# TYPE vllm:inter_token_latency_seconds histogram",
                *self.between.lines("vllm:inter_token_latency_seconds", labels),
            ]
        return "\n".join(lines) + "\n"

    def stats(self):
        with self.lock:
            counts = {"promptTokens": self.prompt_tokens, "generatedTokens": self.generated_tokens, "requests": self.requests}
        return {**counts, "seconds": time.time(), "joules": self.counter.joules()}


def handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def send(self, status, body, kind="application/json"):
            data = body.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            if self.path == "/metrics":
                self.send(200, server.page(), "text/plain; version=0.0.4")
            elif self.path == "/stats":
                self.send(200, json.dumps(server.stats()))
            else:
                self.send(404, "{}")

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            prompt, answer = int(asked["prompt_tokens"]), int(asked["max_tokens"])
            if not (prompt > 0 and answer > 0 and prompt + answer <= MOST_TOKENS):
                self.send(400, json.dumps({"error": f"prompt_tokens + max_tokens must be 2 to {MOST_TOKENS}"}))
                return
            done = threading.Event()
            server.waiting.put((prompt, answer, time.time(), done))
            done.wait()
            usage = {"prompt_tokens": prompt, "completion_tokens": answer}
            self.send(200, json.dumps({"model": MODEL, "usage": usage}))

    return Handler


class ManyServer(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--batches", default="1,4,16,32,64", help="batch sizes whose steps are captured before it is ready")
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    decoder = DryDecoder() if args.dry else Decoder()
    for batch in map(int, args.batches.split(",")):
        decoder.prefill(batch, 512)
        for position in range(512, 520):
            decoder.step(batch, position)
    server = Server(decoder, Counter(args.dry))
    listening = ManyServer(("127.0.0.1", args.port), handler(server))
    print("ready", flush=True)
    listening.serve_forever()


if __name__ == "__main__":
    main()
