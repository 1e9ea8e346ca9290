/** An address that came from elsewhere, as what a link may lead to: http and https alone; undefined for `javascript:` and the rest. */
export function webLink(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}
