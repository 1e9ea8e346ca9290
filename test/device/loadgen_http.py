#!/usr/bin/env python3
"""MLPerf LoadGen, offline, in front of decoder.py: every sample is one request of known lengths.

    python3 test/device/loadgen_http.py LOG_FOLDER URL PROMPT_TOKENS ANSWER_TOKENS SAMPLES SECONDS
"""
import json
import queue
import sys
import threading
import time
import urllib.request

import mlperf_loadgen as lg

folder, url = sys.argv[1:3]
prompt, answer, samples, seconds = map(int, sys.argv[3:7])
body = json.dumps({"prompt_tokens": prompt, "max_tokens": answer}).encode()
issued = queue.Queue()


def work():
    while (one := issued.get()) is not None:
        request = urllib.request.Request(f"{url}/v1/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as response:
            tokens = json.load(response)["usage"]["completion_tokens"]
        lg.QuerySamplesComplete([lg.QuerySampleResponse(one, 0, 0, tokens)])


workers = [threading.Thread(target=work, daemon=True) for _ in range(32)]
for worker in workers:
    worker.start()
sut = lg.ConstructSUT(lambda asked: [issued.put(one.id) for one in asked], lambda: None)
qsl = lg.ConstructQSL(samples, samples, lambda _: None, lambda _: None)
settings = lg.TestSettings()
settings.scenario = lg.TestScenario.Offline
settings.mode = lg.TestMode.PerformanceOnly
settings.min_duration_ms = seconds * 1000
settings.min_query_count = 1
settings.offline_expected_qps = samples / seconds
settings.use_token_latencies = True
output = lg.LogOutputSettings()
output.outdir = folder
log = lg.LogSettings()
log.log_output = output
log.enable_trace = False
# Set-up and tear-down that belong to the command and not to what is measured.
time.sleep(2)
lg.StartTestWithLogSettings(sut, qsl, settings, log)
for _ in workers:
    issued.put(None)
for worker in workers:
    worker.join()
lg.DestroyQSL(qsl)
lg.DestroySUT(sut)
time.sleep(1)
