/**
 * Splits a question in free word order: names, periods and counts are taken out of it, and the concepts of the other words remain.
 * One unknown word, and the question is not understood. Pure.
 */
import { periodOf, periodWords } from "./period.ts";
import { type Concept, conceptsOf } from "./words.ts";

export interface QuestionParts {
  readonly gpus: readonly string[];
  readonly hosts: readonly string[];
  readonly job?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly alert?: string | undefined;
  readonly xid?: string | undefined;
  readonly model?: string | undefined;
  readonly owner?:
    | { readonly kind: "user" | "account" | "project"; readonly name: string }
    | undefined;
  /** What to sum up by. */
  readonly by?: string | undefined;
  readonly count?: number | undefined;
  /** True if it asks about GPUs, not one GPU. */
  readonly isPlural: boolean;
  /** How long back from now. */
  readonly back?: string | undefined;
  readonly has: (...concepts: readonly Concept[]) => boolean;
}

const modelName = String.raw`(?:[tl]4|l40s|[abhlv]\d{2,3}[a-z]{0,2}?|gh?b?\d{3}|rtx ?\d{4}(?: ?(?:ti|super))?|rx ?\d{4}(?: ?xtx?)?|mi\d{3}[a-z]?)`;

/** Splits a question; undefined if a word is unknown. */
export function partsOf(question: string): QuestionParts | undefined {
  let rest = ` ${question.replaceAll(/[,;?!]+(?= |$)/g, "")} `;
  /** Cuts the first match between two spaces out of the question; a word of the vocabulary is no name. */
  const take = (pattern: string, flags = "i"): RegExpExecArray | undefined => {
    const found = new RegExp(`(?<= )${pattern}(?= )`, flags).exec(rest);
    if (found === null || isWord(found.groups?.["name"])) return undefined;
    rest = `${rest.slice(0, found.index)}${rest.slice(found.index + found[0].length)}`;
    return found;
  };
  const takeAll = (pattern: string): string[] => {
    const all: string[] = [];
    for (let found = take(pattern); found !== undefined && all.length < 9; found = take(pattern))
      all.push(found[1] ?? "");
    return all;
  };
  const name = String.raw`(?<name>\S{1,200})`;
  // "Today with yesterday": the last one counts.
  const periods = takeAll(`(?:(?:in|over|during|for|since|within|of) )?(?:the )?(${periodWords})`);
  const back = periodOf(periods.at(-1));
  const fingerprint = take(String.raw`(?:alert )?([\da-f]{16})`)?.[1];
  const alert = take(
    String.raw`(?:alert )?((?:Gpu|Gpulse|Cpu|Host|Node)[A-Z][A-Za-z]{2,60})`,
    "",
  )?.[1];
  const by = take("(?:by|per) (user|account|project|day|job|kind|host|model)s?")?.[1];
  const job = take(String.raw`job (\S{0,190}\d\S{0,190})`)?.[1];
  const owned =
    take(`(user|account|project) ${name}`) ??
    take(`()(?:did|does|is|has) ${name}(?= (?:use|used|using|cost|need|spend|spent|run|running) )`);
  const user = owned?.groups?.["name"];
  const xid = take(String.raw`xids? (?:errors? )?(\d{1,4})`)?.[1];
  const gpus = [
    ...takeAll(String.raw`(?:gpus? )?([^ :]{1,200}:\d{1,3})`),
    ...takeAll(String.raw`(?:gpus? )?((?:GPU|MIG|SIM)-[\da-f]{4}\S*)`),
    ...takeAll(String.raw`(?:gpus?|card) #?(\d{1,3})`),
  ];
  const count = take(String.raw`(?:top )?(\d{1,3})`)?.[1];
  const model = take(`(${modelName})s?`)?.[1];
  const hosts: string[] = [];
  const concepts = new Set<Concept>();
  let before = "";
  for (const word of rest.split(" ").filter((one) => one !== "")) {
    const meant = conceptsOf(word);
    if (meant !== undefined) for (const concept of meant) concepts.add(concept);
    else if (isHostName(word, before)) hosts.push(word);
    else return undefined;
    before = word;
  }
  const isUser = user !== undefined && !/[-.]\w*\d/.test(user);
  if (user !== undefined && !isUser) hosts.push(user);
  if (hosts.length + gpus.length > 8) return undefined;
  return {
    gpus,
    hosts,
    job,
    fingerprint,
    alert,
    xid,
    model,
    owner: isUser ? { kind: ownerKind(owned?.[1]), name: user } : undefined,
    by: by?.toLowerCase(),
    count: count === undefined ? undefined : Math.min(100, Math.max(1, Number(count))),
    isPlural: /\b(?:gpus|cards)\b/i.test(question),
    back,
    has: (...wanted) => wanted.some((concept) => concepts.has(concept)),
  };
}

const isWord = (name: string | undefined): boolean =>
  name !== undefined && conceptsOf(name) !== undefined;

const ownerKind = (word: string | undefined): "user" | "account" | "project" => {
  const kind = word?.toLowerCase();
  return kind === "account" || kind === "project" ? kind : "user";
};

/** An unknown word is a host's name after "on" or "host", or with a digit, a hyphen or a dot inside. */
const isHostName = (word: string, before: string): boolean =>
  /^[\w.-]{1,200}$/.test(word) &&
  (/^(?:on|host|node|machine|server)$/i.test(before) ||
    (/[a-z]/i.test(word) && /\d|\w[-.]\w/.test(word)));
