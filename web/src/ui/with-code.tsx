/** A sentence of the runbook, with commands between backticks as code. */
export const WithCode = ({ text }: { text: string }) => (
  <>{text.split("`").map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
);
