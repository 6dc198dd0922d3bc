/** The known name that somebody most likely meant. */

/** Beyond this many edits it is another word; short words have room for one only. */
const MAX_EDITS = 2;
const SHORT_CHARS = 5;

/** `maxTurns`, `max-turns` and `Max_Turns` are the same name to a person. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** Insertions, deletions, substitutions and swaps of neighbours that lead from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let twoBack: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const steps = [
        (previous[column - 1] ?? 0) + (isSame ? 0 : 1),
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        isSwap ? (twoBack[column - 2] ?? 0) + 1 : Infinity,
      ];
      current.push(Math.min(...steps));
    }
    twoBack = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** The one of `known` nearest to `name`, or null when none is near. Compares without letter case, `_` and `-`. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  const wanted = plain(name);
  const limit = wanted.length <= SHORT_CHARS ? 1 : MAX_EDITS;
  let best: { readonly name: string; readonly edits: number } | null = null;
  for (const candidate of known) {
    const other = plain(candidate);
    // Names that differ this much in length can't be near, and a hostile one may be very long.
    if (Math.abs(other.length - wanted.length) > limit) continue;
    const edits = editDistance(wanted, other);
    if (edits <= limit && (best === null || edits < best.edits)) best = { name: candidate, edits };
  }
  return best?.name ?? null;
}
