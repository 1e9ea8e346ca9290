import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { parseSlurmAccounting } from "./accounting.ts";
import { SlurmFormatError } from "./document.ts";
import { parseHostList } from "./hostlist.ts";
import { parseSlurmQueue } from "./queue.ts";
import { parseNodeGpus, parseRequestedGpus, parseTrackedResources } from "./resources.ts";
import { stateOfWords } from "./state.ts";

/** Output of Slurm 22.05.8 with four slurmd; other jobs of the same minutes were removed. */
const capture = (name: string): string =>
  readFileSync(new URL(`./captures/${name}`, import.meta.url), "utf8");
const queued = (name: string, id: string) =>
  parseSlurmQueue(capture(name)).jobs.find((job) => job.id === id);
const recorded = (id: string, name = "sacct-22.05.json") =>
  parseSlurmAccounting(capture(name)).jobs.filter((job) => job.id === id);

describe("squeue --json of 22.05", () => {
  test("a running job has its GPUs by index, and no end: the printed one is its time limit", () => {
    expect(queued("squeue-22.05.json", "12")).toEqual({
      scheduler: "slurm",
      cluster: "lab",
      id: "12",
      restartCount: 0,
      name: "train",
      user: "root",
      account: "root",
      partition: "gpu",
      state: "running",
      stateText: "RUNNING",
      submitMs: 1_794_978_134_000,
      startMs: 1_794_978_134_000,
      timeLimitSeconds: 3_600,
      requestedGpus: 2,
      allocatedGpus: 2,
      allocatedCpus: 1,
      allocations: [{ host: "n1", gpuCount: 2, gpuIndexes: [0, 1] }],
    });
  });

  test("each node of a job has the GPUs that Slurm lists for it", () => {
    expect(queued("squeue-22.05.json", "15")).toMatchObject({
      state: "suspended",
      allocatedGpus: 4,
      allocations: [
        { host: "n2", gpuCount: 2, gpuIndexes: [0, 1] },
        { host: "n3", gpuCount: 2, gpuIndexes: [0, 1] },
      ],
    });
  });

  test("a requeued job waits again: a later submit time, no start, nothing held", () => {
    const job = queued("squeue-22.05.json", "13");
    expect(job).toMatchObject({
      state: "waiting",
      restartCount: 1,
      submitMs: 1_794_978_137_000,
      stateReason: "BeginTime",
      requestedGpus: 1,
      allocations: [],
    });
    expect(job).not.toHaveProperty("startMs");
    expect(job).not.toHaveProperty("allocatedGpus");
  });

  test("the waiting tasks of an array of 100,000 are one record; a running task has its own id", () => {
    expect(queued("squeue-22.05.json", "17")).toMatchObject({
      arrayJobId: "17",
      arrayTasksWaiting: "2-99999%2",
      state: "waiting",
    });
    expect(queued("squeue-22.05.json", "20")).toMatchObject({
      arrayJobId: "17",
      arrayTaskId: 0,
      state: "running",
      allocations: [{ host: "n2", gpuCount: 1, gpuIndexes: [2] }],
    });
  });

  test("an ended job has its end and exit code, and its nodes without GPU indexes", () => {
    expect(queued("squeue-22.05-ended.json", "22")).toMatchObject({
      state: "failed",
      stateReason: "NonZeroExitCode",
      exitCode: 3,
      startMs: 1_794_978_207_000,
      endMs: 1_794_978_215_000,
      allocatedGpus: 1,
      allocations: [{ host: "n1" }],
    });
    expect(queued("squeue-22.05-ended.json", "19")).toMatchObject({
      state: "timeout",
      exitSignal: 15,
    });
    expect(queued("squeue-22.05-ended.json", "23")).toMatchObject({ state: "node_failed" });
    expect(queued("squeue-22.05.json", "14")).toMatchObject({ state: "cancelled", exitSignal: 15 });
  });

  test("a job that asked for no GPU is left out", () => {
    expect(capture("squeue-22.05.json")).toContain('"name":"noGpu"');
    expect(queued("squeue-22.05.json", "18")).toBeUndefined();
    expect(parseSlurmQueue(capture("squeue-22.05.json"))).toMatchObject({
      release: "22.05.8",
      unreadable: 0,
    });
  });
});

describe("sacct --json of 22.05", () => {
  test("both attempts of a requeued job are there, with their own submit times", () => {
    expect(recorded("13", "sacct-22.05-requeued.json")).toMatchObject([
      {
        state: "requeued",
        submitMs: 1_794_978_134_000,
        startMs: 1_794_978_134_000,
        endMs: 1_794_978_137_000,
        allocatedGpus: 1,
      },
      { state: "waiting", submitMs: 1_794_978_137_000, allocations: [] },
    ]);
  });

  test("processor time and memory are those of all steps", () => {
    const [job] = recorded("24");
    expect(job?.cpuSeconds).toBeCloseTo(0.011_762 + 3.126_736, 6);
    expect(job?.peakMemoryBytes).toBe(13_729_792);
    const [broken] = recorded("22");
    expect(broken?.cpuSeconds).toBeCloseTo(3.080_27, 6);
  });

  test("a job that runs, or whose node was lost, has no processor time, not 0", () => {
    for (const id of ["15", "20", "23"]) {
      const [job] = recorded(id);
      expect(job).toBeDefined();
      expect(job).not.toHaveProperty("cpuSeconds");
      expect(job).not.toHaveProperty("peakMemoryBytes");
    }
  });

  test("the exit code 0 that 22.05 prints for a failed job is not believed", () => {
    expect(recorded("22")).toMatchObject([{ state: "failed" }]);
    expect(recorded("22")[0]).not.toHaveProperty("exitCode");
    expect(recorded("24")).toMatchObject([{ state: "completed", exitCode: 0 }]);
  });

  test("a suspended job says how long it was suspended", () => {
    expect(recorded("15")).toMatchObject([{ state: "suspended", startMs: 1_794_978_134_000 }]);
  });
});

/** The formats that 23.02 to 24.11 print, by their OpenAPI descriptions: wrapped numbers and lists of states. */
describe("newer versions", () => {
  const number = (value: number) => ({ set: true, infinite: false, number: value });
  const unset = { set: false, infinite: false, number: 0 };
  const newer = {
    job_id: 9_001,
    cluster: "big",
    name: "llm",
    user_name: "ada",
    job_state: ["RUNNING"],
    array_job_id: number(0),
    array_task_id: unset,
    restart_cnt: 2,
    nodes: "gpu[01-02]",
    gres_detail: ["gpu:h200:8(IDX:0-7)", "gpu:h200:3(IDX:0,2,7)"],
    tres_alloc_str: "cpu=64,mem=1.5T,node=2,billing=11,gres/gpu=11,gres/gpu:h200=11",
    tres_req_str: "cpu=64,mem=1.5T,node=2,gres/gpu=11",
    submit_time: number(1_800_000_000),
    start_time: number(1_800_000_060),
    end_time: number(1_800_086_460),
    time_limit: { set: true, infinite: true, number: 0 },
    exit_code: { status: ["SUCCESS"], return_code: number(0), signal: { id: unset, name: "" } },
  };
  const document = (...jobs: readonly unknown[]): string =>
    JSON.stringify({ jobs, errors: [], warnings: [], meta: { slurm: { release: "24.05.2" } } });

  test("numbers in records and states in lists read like those of 22.05", () => {
    const { jobs, release } = parseSlurmQueue(document(newer));
    expect(release).toBe("24.05.2");
    expect(jobs).toMatchObject([
      {
        id: "9001",
        state: "running",
        restartCount: 2,
        startMs: 1_800_000_060_000,
        allocatedGpus: 11,
        allocatedMemoryBytes: 1.5 * 2 ** 40,
        allocations: [
          { host: "gpu01", gpuCount: 8, gpuIndexes: [0, 1, 2, 3, 4, 5, 6, 7] },
          { host: "gpu02", gpuCount: 3, gpuIndexes: [0, 2, 7] },
        ],
      },
    ]);
    for (const absent of ["arrayJobId", "arrayTaskId", "endMs", "timeLimitSeconds", "exitCode"])
      expect(jobs[0]).not.toHaveProperty(absent);
  });

  test("an end that has flags beside it is an end", () => {
    const exit_code = { return_code: number(0), signal: { id: number(9), name: "KILL" } };
    const ended = { ...newer, job_state: ["CANCELLED", "COMPLETING"], exit_code };
    expect(parseSlurmQueue(document(ended)).jobs).toMatchObject([
      { state: "cancelled", endMs: 1_800_086_460_000, exitSignal: 9 },
    ]);
  });

  test("accounting with lists of states and wrapped counts", () => {
    const entry = {
      job_id: 7,
      user: "ada",
      state: { current: ["OUT_OF_MEMORY"], reason: "OutOfMemory" },
      array: { job_id: 0, task_id: unset },
      time: { submission: 10, start: 20, end: 30, suspended: 0, limit: number(60) },
      nodes: "gpu01",
      exit_code: { status: ["SIGNALED"], return_code: number(0), signal: { id: number(9) } },
      tres: { allocated: [{ type: "gres", name: "gpu:h200", count: 4 }] },
      steps: [],
    };
    expect(parseSlurmAccounting(document(entry)).jobs).toEqual([
      {
        scheduler: "slurm",
        id: "7",
        user: "ada",
        state: "out_of_memory",
        stateText: "OUT_OF_MEMORY",
        stateReason: "OutOfMemory",
        exitCode: 0,
        exitSignal: 9,
        submitMs: 10_000,
        startMs: 20_000,
        endMs: 30_000,
        timeLimitSeconds: 3_600,
        allocatedGpus: 4,
        allocations: [{ host: "gpu01" }],
      },
    ]);
  });

  test("100,000 tasks of an array, each with its own record", () => {
    const { job_state, nodes, gres_detail } = newer;
    const tasks = Array.from({ length: 100_000 }, (_, task) => ({
      job_state,
      nodes,
      gres_detail,
      job_id: 10_000 + task,
      array_job_id: number(10_000),
      array_task_id: number(task),
    }));
    const { jobs } = parseSlurmQueue(document(...tasks));
    expect(jobs.length).toBe(100_000);
    expect(jobs.at(-1)).toMatchObject({ arrayTaskId: 99_999 });
  });
});

describe("bad answers", () => {
  test.each([
    ["", "Slurm's answer is empty"],
    ["slurm_load_jobs error: Unable to contact", "is not JSON: slurm_load_jobs error"],
    ["[]", "has no list of jobs"],
    ['{"jobs": 5}', "has no list of jobs"],
    ['{"jobs": [], "errors": [{"error": "Unable to contact"}]}', "reported: Unable to contact"],
    [capture("squeue-22.05-down.json"), "Failed while looking for jobs: Unspecified error"],
  ])("%j is refused with a reason", (text, reason) => {
    expect(() => parseSlurmQueue(text)).toThrow(SlurmFormatError);
    expect(() => parseSlurmQueue(text)).toThrow(reason);
  });

  test("an entry that cannot be read loses no other", () => {
    const good = {
      job_id: 1,
      job_state: "RUNNING",
      nodes: "n1",
      gres_detail: ["gpu:1(IDX:3)"],
    };
    const text = JSON.stringify({
      jobs: [null, { job_id: -1 }, { job_id: 2, job_state: "DANCING" }, good],
    });
    const { jobs, unreadable, firstProblem } = parseSlurmQueue(text);
    expect(jobs.map(({ id }) => id)).toEqual(["1"]);
    expect({ unreadable, firstProblem }).toEqual({
      unreadable: 3,
      firstProblem: "an entry is not an object",
    });
  });

  test("a site that does not track gres/gpu: GPUs are counted from the detail", () => {
    const entry = { job_id: 1, job_state: "RUNNING", nodes: "n1", gres_detail: ["gpu:2(IDX:1-2)"] };
    expect(parseSlurmQueue(JSON.stringify({ jobs: [entry] })).jobs).toMatchObject([
      { allocatedGpus: 2 },
    ]);
  });
});

test.each([
  ["n[2-3]", ["n2", "n3"]],
  ["n[08-10,12],login", ["n08", "n09", "n10", "n12", "login"]],
  ["r[0-1]n[1-2]", ["r0n1", "r0n2", "r1n1", "r1n2"]],
  ["None assigned", []],
  ["", []],
  ["n[3-1]", undefined],
  ["n[1-999999999]", undefined],
  ["n[1", undefined],
  ["a b", undefined],
])("the host list %j", (text, hosts) => {
  expect(parseHostList(text)).toEqual(hosts);
});

test.each([
  ["gpu:2(IDX:0-1)", { gpuCount: 2, gpuIndexes: [0, 1] }],
  ["gpu:a100:2(IDX:0,3),shard:4(1/8)", { gpuCount: 2, gpuIndexes: [0, 3] }],
  ["gpu:a100:1(IDX:0),gpu:v100:1(IDX:4)", { gpuCount: 2, gpuIndexes: [0, 4] }],
  ["gpu:a100_1g.5gb:2(IDX:3,9)", { gpuCount: 2 }],
  ["gpu:a100:1(IDX:7),gpu:nvidia_a100_3g.20gb:1(IDX:0)", { gpuCount: 2 }],
  ["gpu:2", { gpuCount: 2 }],
  ["gpu:2(IDX:N/A)", { gpuCount: 2 }],
  ["gpu:0(IDX:N/A)", undefined],
  ["shard:4(1/8)", undefined],
  ["", undefined],
])("a node's GPUs %j", (text, gpus) => {
  expect(parseNodeGpus(text)).toEqual(gpus);
});

test.each([
  ["gres:gpu:2", 2],
  ["gres/gpu:a100:4", 4],
  ["gpu", 1],
  ["gres:gpu:a100", 1],
  ["gres:gpu:a100:2,gres:gpu:v100:1", 3],
  ["gres:license:5", undefined],
  ["", undefined],
])("requested GPUs %j", (text, gpus) => {
  expect(parseRequestedGpus(text)).toBe(gpus);
});

test("tracked resources count each GPU once, whether its type is listed or not", () => {
  expect(parseTrackedResources("cpu=8,mem=64G,gres/gpu=2,gres/gpu:a100=2")).toEqual({
    gpus: 2,
    cpus: 8,
    memoryBytes: 64 * 2 ** 30,
  });
  expect(parseTrackedResources("gres/gpu:a100=2,gres/gpu:v100=1").gpus).toBe(3);
  expect(parseTrackedResources("cpu=8").gpus).toBeUndefined();
});

test.each([
  [["COMPLETING"], "ended"],
  [["COMPLETED", "COMPLETING"], "completed"],
  [["PENDING", "REQUEUED"], "waiting"],
  [["RUNNING", "CONFIGURING"], "running"],
  [["CANCELLED by 1000"], "cancelled"],
  [["SOMETHING_NEW"], undefined],
])("the state %j", (words, state) => {
  expect(stateOfWords(words)).toBe(state);
});
