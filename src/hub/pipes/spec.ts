/** Schema of the hub's pipes, for requests and stored records, and the command line that runs one. */
import * as v from "valibot";
import { checkValue } from "../../config/check.ts";

export const maxPipes = 16;
const maxUrls = 8;
const maxUrlLetters = 1_000;

const url = v.pipe(
  v.string("a URL"),
  v.trim(),
  v.minLength(1, "a URL"),
  v.maxLength(maxUrlLetters, `at most ${maxUrlLetters} letters`),
  // A NUL would end an argument early.
  v.check((text) => !/\p{Cc}/u.test(text), "one line of plain text"),
);
const urls = v.pipe(
  v.array(url, "a list of URLs"),
  v.minLength(1, "at least one URL"),
  v.maxLength(maxUrls, `at most ${maxUrls} URLs`),
);

const entries = {
  name: v.pipe(
    v.string("a name"),
    v.trim(),
    v.regex(/^[\p{L}\p{N}._@ -]{1,60}$/u, "made of 1 to 60 letters, digits, spaces and . _ @ -"),
  ),
  kind: v.picklist(["pipe", "replay"], "pipe or replay"),
  from: urls,
  to: urls,
  options: v.optional(
    v.strictObject({
      speed: v.optional(v.pipe(v.string("text such as 2 or max"), v.maxLength(20, "a number"))),
      loop: v.optional(v.boolean("true or false")),
      now: v.optional(v.boolean("true or false")),
    }),
    {},
  ),
};

export const pipeSpecSchema = v.strictObject(entries);
export type PipeSpec = v.InferOutput<typeof pipeSpecSchema>;

const storedPipeSchema = v.strictObject({
  ...entries,
  wanted: v.picklist(["running", "stopped"]),
  /** True if it reached the end of its data. */
  done: v.optional(v.boolean()),
});
export type StoredPipe = v.InferOutput<typeof storedPipeSchema>;

export function parseStoredPipe(value: unknown): StoredPipe | undefined {
  const checked = checkValue(storedPipeSchema, value);
  return checked.ok ? checked.value : undefined;
}

export interface PipeEnvironment {
  readonly dataDir: string;
  readonly hostName: string;
  /** Flags that restrict the addresses it may contact. */
  readonly outbound: readonly string[];
}

/** Values follow `=` and the file follows `--`, so that none of them can be parsed as a flag. */
export function pipeArguments(
  pipe: PipeSpec,
  { dataDir, hostName, outbound }: PipeEnvironment,
): string[] {
  const { speed, loop, now } = pipe.options;
  const common = [
    ...pipe.to.map((one) => `--to=${one}`),
    "--port=0",
    "--host=127.0.0.1",
    "--log-level=info",
    `--data=${dataDir}`,
    `--host-name=${hostName}`,
    ...outbound,
  ];
  if (pipe.kind === "pipe") return ["pipe", ...pipe.from.map((one) => `--from=${one}`), ...common];
  return [
    "replay",
    ...(speed === undefined ? [] : [`--speed=${speed}`]),
    ...(loop === true ? ["--loop"] : []),
    ...(now === true ? ["--now"] : []),
    ...common,
    "--",
    pipe.from[0] ?? "",
  ];
}
