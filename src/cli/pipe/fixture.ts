/** A command's outside world for the tests of pipes and replays: what it printed, and a way to stop it. */
import { Writable } from "node:stream";
import type { CommandIo } from "../command/io.ts";
import { gpuzBytes, headerLine, rowLine } from "../../formats/gpuz/fixture.ts";

export interface TestIo {
  readonly io: CommandIo;
  readonly out: () => string;
  readonly err: () => string;
  readonly stop: () => void;
}

export function testIo(): TestIo {
  const [out, err]: [string[], string[]] = [[], []];
  let stop = (): void => {};
  const stopped = new Promise<string>((resolve) => (stop = () => resolve("SIGTERM")));
  return {
    io: {
      env: {},
      stdout: into(out),
      stderr: into(err),
      version: "test",
      stopped: () => stopped,
    },
    out: () => out.join(""),
    err: () => err.join(""),
    stop: () => stop(),
  };
}

function into(text: string[]): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text.push(chunk.toString());
      done();
    },
  });
}

/** A log of a row a second, with what is given in the place of a row. */
export function gpuzLog(rows: number, broken: Readonly<Record<number, string>> = {}): Buffer {
  const columns = ["GPU Temperature [°C]", "Board Power Draw [W]", "GPU Load [%]"];
  const lines = Array.from({ length: rows }, (_, second) => {
    const time = new Date(Date.UTC(2024, 0, 14, 18, 0, second)).toISOString().slice(0, 19);
    return (
      broken[second] ?? rowLine(time.replace("T", " "), [60 + second, 250 + (second % 3_000), 50])
    );
  });
  return Buffer.from(gpuzBytes(headerLine(columns) + lines.join("")));
}
