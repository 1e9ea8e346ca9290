/** Not built yet. */
export function Page() {
  return <p class="waiting">This page is being built.</p>;
}
