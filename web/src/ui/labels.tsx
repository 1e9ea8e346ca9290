/** Labels as small badges, `name=value`; names in `without` are omitted. */
export function Labels({
  labels,
  without = [],
}: {
  labels: Readonly<Record<string, string>>;
  without?: readonly string[];
}) {
  const shown = Object.entries(labels).filter(([name]) => !without.includes(name));
  if (shown.length === 0) return null;
  return (
    <ul class="labels">
      {shown.map(([name, value]) => (
        <li key={name}>
          <span class="unit">{name}=</span>
          {value}
        </li>
      ))}
    </ul>
  );
}
