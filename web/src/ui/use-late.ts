/** True once a state has lasted for a while, so that a spinner does not flash. */
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
