/** Validates an external address for use in a link: http and https only; undefined for `javascript:` and others. */
export function webLink(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}
