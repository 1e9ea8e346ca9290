/** Options with a fixed set of values, which `--help`, completions and man pages list. */
import { Option } from "commander";

/** `a, b or c`. */
export const listWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** Only lists the words. The code that uses the value validates it, since it may also come from a variable or a file. */
export function choice(
  flags: string,
  help: string,
  words: readonly string[],
  fallback?: string,
): Option {
  const shown = fallback === undefined ? "" : ` (default: ${fallback})`;
  return withWords(new Option(flags, `${help}: ${listWords(words)}${shown}`), words);
}

export function withWords(option: Option, words: readonly string[]): Option {
  option.argChoices = [...words];
  return option;
}
