/** Suggested comparisons while none is selected, one click each. */
import { type Gpu, nameOf } from "../../../../src/view/gpu.ts";
import { Empty } from "../../ui/banner.tsx";
import { hrefOf } from "../../view-state/address.ts";
import { writeDuration } from "../../view-state/range.ts";
import { rangeMs } from "../../view-state/time.ts";

const MOST = 4;

export function Suggestions({ known }: { known: readonly Gpu[] }) {
  const found = suggestionsOf(known, writeDuration(rangeMs.value));
  return (
    <Empty
      title={
        found.length === 0
          ? "No GPU has reported yet, so there is nothing to compare."
          : "Nothing is selected. Add GPUs or hosts above, or start with one of these:"
      }
    >
      {found.length > 0 && (
        <ul class="compare-ideas">
          {found.map(({ says, params }) => (
            <li key={says}>
              <a href={hrefOf("compare", params)}>{says}</a>
            </li>
          ))}
        </ul>
      )}
      Two desktop cards under the same stress test, simulated:{" "}
      <code>gpulse up --source 'sim:?scenario=stress'</code>
    </Empty>
  );
}

interface Suggestion {
  readonly says: string;
  readonly params: { readonly gpus?: string; readonly hosts?: string };
}

function suggestionsOf(known: readonly Gpu[], before: string): readonly Suggestion[] {
  const models = [...new Map(known.map((gpu) => [gpu.device.model, gpu])).values()];
  const hosts = [...new Set(known.map(({ device }) => device.host))];
  const [one, other] = models.length > 1 ? models : known;
  return [
    ...(one === undefined || other === undefined
      ? []
      : [
          {
            says: `${nameOf(one)} beside ${nameOf(other)}`,
            params: { gpus: `${one.id},${other.id}` },
          },
        ]),
    ...(one === undefined
      ? []
      : [
          {
            says: `${nameOf(one)} now and ${before} earlier`,
            params: { gpus: `${one.id},${one.id}@-${before}` },
          },
        ]),
    ...(hosts.length > 1
      ? [
          {
            says: hosts.slice(0, MOST).join(" beside "),
            params: { hosts: hosts.slice(0, MOST).join() },
          },
        ]
      : []),
  ];
}
