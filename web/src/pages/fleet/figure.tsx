/** One figure of the totals: name, value with unit, and a note below it. */
import type { ComponentChildren } from "preact";
import type { FormattedQuantity } from "../../format/quantity.ts";

export function Figure(props: {
  label: string;
  family?: string;
  value: FormattedQuantity | undefined;
  tip?: string;
  /** True until the first result, which differs from an absent value. */
  waiting?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <div class="figure" data-family={props.family} data-tip={props.tip}>
      <h2>{props.label}</h2>
      <p class="now">
        {props.value === undefined ? (
          props.waiting === true ? (
            <span class="skeleton" aria-label="loading" role="img" />
          ) : (
            <span class="absent">n/a</span>
          )
        ) : (
          props.value.text
        )}
        {props.value !== undefined && props.value.unit !== "" && (
          <span class="unit"> {props.value.unit}</span>
        )}
      </p>
      {props.children}
    </div>
  );
}
