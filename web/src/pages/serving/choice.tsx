/** A select for a parameter of the view. */
import type { Param } from "../../view-state/param.ts";

export function Choice<Word extends string>({
  label,
  param,
  options,
}: {
  label: string;
  param: Param<Word>;
  options: readonly Word[];
}) {
  return (
    <label>
      <span class="unit">{label}</span>
      <select
        class="input"
        value={param.value}
        onChange={({ currentTarget: { value } }) => {
          const found = options.find((option) => option === value);
          if (found !== undefined) param.value = found;
        }}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
