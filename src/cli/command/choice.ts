/** Options whose value is one of a few words: the words stand in `--help`, in completions and in man pages. */
import { Option } from "commander";

/** `a, b or c`. */
export const listWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** The words are only listed here. The code that uses the value checks it, since a variable or a file may set it too. */
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
