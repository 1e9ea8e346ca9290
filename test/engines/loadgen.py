# Drives MLPerf LoadGen with a system under test that waits: argv is the log folder and the scenario.

import queue
import sys
import threading
import time

import mlperf_loadgen as lg

folder, scenario = sys.argv[1:3]
issued = queue.Queue()


def answer():
    while (ids := issued.get()) is not None:
        for one in ids:
            time.sleep(0.004)
            lg.QuerySamplesComplete([lg.QuerySampleResponse(one, 0, 0, 20)])


worker = threading.Thread(target=answer, daemon=True)
worker.start()
sut = lg.ConstructSUT(lambda samples: issued.put([sample.id for sample in samples]), lambda: None)
qsl = lg.ConstructQSL(100, 100, lambda _: None, lambda _: None)
settings = lg.TestSettings()
settings.scenario = getattr(lg.TestScenario, scenario)
settings.mode = lg.TestMode.PerformanceOnly
settings.min_duration_ms = 3000
settings.min_query_count = 50
settings.offline_expected_qps = 200
settings.use_token_latencies = scenario == "Offline"
output = lg.LogOutputSettings()
output.outdir = folder
log = lg.LogSettings()
log.log_output = output
log.enable_trace = False
# Set-up and tear-down that belong to the command and not to what is measured.
time.sleep(1.5)
lg.StartTestWithLogSettings(sut, qsl, settings, log)
issued.put(None)
worker.join()
lg.DestroyQSL(qsl)
lg.DestroySUT(sut)
time.sleep(1)
