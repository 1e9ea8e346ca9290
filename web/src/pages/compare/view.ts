/** The subjects of the comparison, stored in the address: `gpus`, `hosts`, `runs`, and a query of the work done. */
import { list, Param, text } from "../../view-state/param.ts";
import { setParams } from "../../view-state/address.ts";
import {
  type CompareSubject,
  MOST_SUBJECTS,
  subjectKey,
  subjectsCodec,
  writeSubject,
} from "./subject.ts";

const gpuCodec = subjectsCodec("gpu");
const hostCodec = subjectsCodec("host");
const gpus = new Param("gpus", gpuCodec, "push");
const hosts = new Param("hosts", hostCodec, "push");
/** Ids of recorded runs. */
export const runs = new Param("runs", list, "push");
/** PromQL whose value is work per second, such as `rate(my_tokens_total[1m])`. */
export const work = new Param("work", text);

export const chosen = (): readonly CompareSubject[] =>
  [...gpus.value, ...hosts.value].slice(0, MOST_SUBJECTS);

function choose(next: readonly CompareSubject[]): void {
  const unique = [...new Map(next.map((one) => [subjectKey(one), one])).values()];
  setParams(
    {
      gpus: gpuCodec.write(unique.filter(({ kind }) => kind === "gpu")),
      hosts: hostCodec.write(unique.filter(({ kind }) => kind === "host")),
    },
    "push",
  );
}

export const add = (subject: CompareSubject): void => choose([...chosen(), subject]);
export const remove = (subject: CompareSubject): void =>
  choose(
    chosen().filter(
      (one) => writeSubject(one) !== writeSubject(subject) || one.kind !== subject.kind,
    ),
  );
