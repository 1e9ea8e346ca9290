// Checks that every parser is fuzzed: an exported function that reads external input is in a target, or listed here with a reason.

import { expect, test } from "vitest";

import { readSource, sourceFiles } from "../architecture/source-tree.ts";
import { corpusFolders, readCorpus } from "./corpus.ts";
import { groups } from "./targets.ts";

/** Parsers are named like this everywhere; `read` means parsing only in formats and sources. */
const ANYWHERE = /^export (?:async )?function\*? (?<name>(?:parse|decode)(?:[A-Z]\w*)?)\b/gm;
const IN_FORMATS = /^export (?:async )?function\*? (?<name>(?:parse|decode|read)(?:[A-Z]\w*)?)\b/gm;
const patternFor = (file: string): RegExp =>
  /^src\/(formats|sources(?!\/scrape\/config))\//.test(file) ? IN_FORMATS : ANYWHERE;

/** File and function, and why no target calls it directly. */
const REACHED_OTHERWISE: Readonly<Record<string, string>> = {
  "src/cli/command/parse.ts#parseToExit":
    "commander's own reading of a command line that its user typed",
  "src/cli/command/setting.ts#parseSetting": "a flag or variable that the user typed",
  "src/cli/command/setting.ts#parseSpec":
    "a URL that the user typed; parseComponent below it is fuzzed",
  "src/cli/check/run.ts#parseCheckOptions": "flags that the user typed",
  "src/cli/pipe/options.ts#parseTuning": "flags that the user typed",
  "src/hub/api/params.ts#parseSelectorParam": "one parameter, read with the PromQL parser",
  "src/cli/run/options.ts#parseRunOptions": "flags that the user typed",
  "src/cli/run/options.ts#parseDurationFlag": "flags that the user typed",
  "src/hub/alerts/v2/alerts.ts#parseOrBadRequest": "calls a fuzzed parser and answers 400",
  "src/hub/api/series.ts#parseTimeRange": "calls a fuzzed parser for start and end",
  "src/config/budget.ts#parseBudget": "a setting that the user typed, checked by budgetText",
  "src/config/component.ts#parseComponent": "under parseSource, parseSink and parseKernelLog",
  "src/formats/exposition/metadata.ts#readMetadata": "under parsePage",
  "src/formats/exposition/number.ts#readFloat": "under parsePage",
  "src/formats/exposition/protobuf-message.ts#readNumber": "under parseProtobufPage",
  "src/formats/exposition/protobuf-message.ts#readSummary": "under parseProtobufPage",
  "src/formats/exposition/protobuf-message.ts#readPair": "under parseProtobufPage",
  "src/formats/gpuz/units.ts#readCell": "under GpuzFrames",
  "src/formats/influx/scan.ts#readFloat": "under LineDecoder",
  "src/formats/influx/scan.ts#readInteger": "under LineDecoder",
  "src/formats/influx/scan.ts#readTimeMs": "under LineDecoder",
  "src/formats/message/schema.ts#parseMessageTime": "under MessageDecoder",
  "src/formats/otlp/decode/attributes.ts#readAttribute": "under decodeOtlp",
  "src/formats/push/read.ts#readValue": "under decodePush",
  "src/formats/push/read.ts#readName": "under decodePush",
  "src/formats/push/read.ts#readLabels": "under decodePush",
  "src/formats/push/read.ts#readTimeMs": "under decodePush",
  "src/formats/remote-write/decode-histogram.ts#readExemplar": "under decodeWriteRequest",
  "src/formats/remote-write/decode-parts.ts#readSample": "under decodeWriteRequest",
  "src/formats/samples/labels.ts#readLabel": "under readLabelBlock and decodeWriteRequest",
  "src/sources/amd/gpu-metrics/attributes.ts#parseAttribute": "under decodeGpuMetrics",
  "src/sources/amd/kfd.ts#readKfdNodes": "opens files, and reads them with parseProperties",
  "src/sources/amd/kfd.ts#readPartitions": "lists folders, whose names it only matches",
  "src/sources/amd/kfd.ts#readKfdProcesses": "opens files, and reads them with parseNumber",
  "src/sources/amd/names.ts#readNameTable": "opens a file, and reads it with parseNameTable",
  "src/sources/host/processor.ts#readProcStat": "opens a file, and reads it with parseProcStat",
  "src/sources/nvidia/nvml/structs.ts#readCount": "under readProcesses",
  "src/sources/nvidia/reader/card.ts#readU32": "calls the driver's library; takes no bytes",
  "src/sources/nvidia/reader/inventory.ts#readInventory":
    "calls the driver's library; takes no bytes",
  "src/sources/nvidia/reader/inventory.ts#readDriver": "calls the driver's library; takes no bytes",
  "src/sources/nvidia/reader/inventory.ts#readCuda": "calls the driver's library; takes no bytes",
  "src/sources/amd/tools/snapshot.ts#readStatic":
    "runs a tool, and reads its output with fuzzed parsers",
  "src/sources/amd/tools/snapshot.ts#readAllCards":
    "runs tools, and reads their output with fuzzed parsers",
  "src/cli/command/reading-window.ts#parseWindowMs": "a duration of the command line: durationMs",
  "src/sources/nvidia/smi/gpu.ts#parseReportedText": "under parseSmiXml",
  "src/model/nvidia-throttle.ts#decodeThrottleBits": "takes a number, not text or bytes",
  "src/view/live/curve-text.ts#decodeCurve": "runs in the page, on the hub's own text",
  "src/view/live/fleet-columns.ts#decodeFleet": "runs in the page, on the hub's own JSON",
  "src/view/live/fleet-columns.ts#decodeFrame": "runs in the page, on the hub's own JSON",
  "src/sources/nvidia/smi/value.ts#readCell": "under parseSmiXml",
  "src/sources/nvidia/smi/xml.ts#parseXml": "under parseSmiXml",
  "src/sources/run/source.ts#readRun": "opens a file, and reads it with openArchive and readTrace",
  "src/formats/slurm/document.ts#readJobEntry": "under parseSlurmQueue and parseSlurmAccounting",
  "src/formats/slurm/document.ts#readDocument": "under parseSlurmQueue and parseSlurmAccounting",
  "src/formats/template/lex.ts#readString": "under TemplateSet",
  "src/formats/template/lex.ts#readChar": "under TemplateSet",
  "src/formats/template/lex.ts#readNumber": "under TemplateSet",
  "src/formats/template/parse.ts#parseTemplate": "under TemplateSet",
};

/** `src/a/b.ts#parseC` of every import in the targets' files. */
function importedByTargets(): Set<string> {
  const found = new Set<string>();
  for (const file of sourceFiles("test/fuzz/targets")) {
    const text = readSource(file);
    for (const [, names = "", from = ""] of text.matchAll(
      /import (?:type )?\{([^}]*)\} from "(?:\.\.\/)+(src\/[^"]+)"/g,
    ))
      for (const name of names.split(",")) {
        const [own = ""] = name.trim().split(" as ");
        found.add(`${from}#${own.trim()}`);
      }
  }
  return found;
}

function parsers(): string[] {
  return sourceFiles("src")
    .filter((file) => !/\.test\.ts$|fixture\.ts$|\/bench\.ts$/.test(file))
    .flatMap((file) =>
      [...readSource(file).matchAll(patternFor(file))].map(
        (match) => `${file}#${match.groups?.["name"] ?? ""}`,
      ),
    );
}

test("every exported parser stands in a target of the fuzzer, or in the list of those reached otherwise", () => {
  const fuzzed = importedByTargets();
  const missing = parsers().filter((one) => !fuzzed.has(one) && !(one in REACHED_OTHERWISE));
  expect(missing).toEqual([]);
});

test("no reason stands for a parser that is gone, or that is fuzzed by now", () => {
  const [all, fuzzed] = [new Set(parsers()), importedByTargets()];
  const idle = Object.keys(REACHED_OTHERWISE).filter((one) => !all.has(one) || fuzzed.has(one));
  expect(idle).toEqual([]);
});

test("names of targets are distinguished, and the corpus holds nothing of one that is gone", () => {
  const names = Object.values(groups).flatMap((targets) => targets.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(corpusFolders().filter((folder) => !names.includes(folder))).toEqual([]);
});

test("the corpus stays small", () => {
  const names = Object.values(groups).flatMap((targets) => targets.map(({ name }) => name));
  const bytes = names.flatMap(readCorpus).reduce((sum, input) => sum + input.bytes.length, 0);
  expect(bytes).toBeLessThan(1_000_000);
});
