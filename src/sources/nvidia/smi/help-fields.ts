/**
 * The columns this nvidia-smi knows, from `nvidia-smi --help-query-gpu`. One name it does not know makes a whole query fail, so
 * it is asked first. Pure, and never throws. The text is paragraphs that begin with a name, or with several for one column:
 *
 *     "power.limit" or "gpu.power.requested_limit"
 *     The software power limit in watts. Set by software such as nvidia-smi.
 */

/** Every name to the one its column is headed with, which is the first. */
export function parseHelpFields(text: string): Map<string, string> {
  const names = new Map<string, string>();
  for (const line of text.split("\n")) {
    // Explanations begin with a quote too: "0: Default" means multiple contexts are allowed.
    const parts = line.trim().split(" or ");
    if (!parts.every((part) => /^"[\w.]{1,100}"$/.test(part))) continue;
    const [first = "", ...others] = parts.map((part) => part.slice(1, -1));
    for (const name of [first, ...others]) names.set(name, first);
  }
  return names;
}
