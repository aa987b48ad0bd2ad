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

/** Finds the word that was probably meant; undefined when none is near. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const near = words
    .map((one) => ({ one, distance: distanceOf(word.toLowerCase(), one) }))
    .filter(({ one, distance }) => distance <= Math.max(1, Math.floor(Math.min(one.length, word.length) / 3)))
    .toSorted((left, right) => left.distance - right.distance);
  return near[0]?.one;
}
