/** Format since 2009: AB-123-CD, without the letters I, O and U, the group SS and the number 000. */
const currentFormat = /^(?!SS)([A-HJ-NP-TV-Z]{2})(?!000)(\d{3})(?!SS)([A-HJ-NP-TV-Z]{2})$/;
/** Format from 1950 to 2009: up to four digits, one to three letters without I and O, and the department. */
const formerFormat = /^0*([1-9]\d{0,3})([A-HJ-NP-Z]{1,3})(0[1-9]|[1-8]\d|9[0-5]|2[AB]|97[1-8]|98[4-8])$/;

/** A French plate: `key` for comparison, `display` with separators. */
export interface Plate {
  key: string;
  display: string;
}

/**
 * Parses a French plate with any separators and in any case.
 * @returns undefined for text in neither the current nor the former format
 */
export function normalizePlate(text: string): Plate | undefined {
  const compact = text.replace(/[\s._·–—-]/g, '');
  if (!/^[A-Za-z0-9]{1,12}$/.test(compact)) return undefined;
  const capitals = compact.toUpperCase();
  const current = currentFormat.exec(capitals);
  if (current) return plateOf(current.slice(1), '-');
  const former = formerFormat.exec(capitals);
  return former ? plateOf(former.slice(1), ' ') : undefined;
}

function plateOf(groups: readonly string[], separator: string): Plate {
  return { key: groups.join(''), display: groups.join(separator) };
}
