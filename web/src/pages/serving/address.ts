/** The address of one server, with the selected SLO and window. */
import { hrefOf, query } from "../../view-state/address.ts";

export function hrefWith(id: string | undefined): string {
  const kept = ["ttft", "itl", "window"].flatMap((name) => {
    const value = query.value.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return hrefOf("serving", { ...Object.fromEntries(kept), ...(id === undefined ? {} : { id }) });
}
