/** Counts the characters to insert, delete or replace until two words are equal (Levenshtein). */
function distanceOf(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [index, character] of [...left].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...right].entries()) {
      const replaced = (row[column] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Shorter prefixes match too many words. */
const shortestBeginning = 4;
/** Length of names from a request that are compared and shown; limits the cost of the edit distance. */
export const maxNameLength = 64;

/** Finds the intended word: one that differs in few characters or has it as a prefix; undefined when none is close. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  if (word.length > maxNameLength) return undefined;
  const written = word.toLowerCase();
  const isNear = (one: string, distance: number) =>
    distance <= Math.max(1, Math.floor(Math.min(one.length, written.length) / 3)) ||
    (written.length >= shortestBeginning && one.toLowerCase().startsWith(written));
  const near = words
    .map((one) => ({ one, distance: distanceOf(written, one.toLowerCase()) }))
    .filter(({ one, distance }) => isNear(one, distance))
    .toSorted((left, right) => left.distance - right.distance);
  return near[0]?.one;
}
