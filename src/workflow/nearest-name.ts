/** The known name that somebody most likely meant. */

/** Beyond this many edits it is another word; short words have room for fewer. */
const MAX_EDITS = 2;

/** `maxTurns`, `max-turns` and `Max_Turns` are the same name to a person. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, "");
}

/** Insertions, deletions and substitutions from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** The one of `known` nearest to `name`, or null when none is near. Compares without letter case, `_` and `-`. */
export function nearestName(name: string, known: Iterable<string>): string | null {
  const wanted = plain(name);
  const limit = Math.min(MAX_EDITS, Math.floor(wanted.length / 3));
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
