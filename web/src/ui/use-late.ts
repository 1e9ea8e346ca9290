/** Whether something has lasted: a spinner that flashes up is only noise. */
import { useEffect, useState } from "preact/hooks";

const PATIENCE_MS = 300;

export function useLate(lasting: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!lasting) {
      setLate(false);
      return undefined;
    }
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [lasting]);
  return lasting && late;
}
