/** Since 2009: AB-123-CD, of letters without I, O and U; SS is in no group, and 000 is not given. */
const presentForm = /^(?!SS)([A-HJ-NP-TV-Z]{2})(?!000)(\d{3})(?!SS)([A-HJ-NP-TV-Z]{2})$/;
/** From 1950 to 2009: up to four digits, one to three letters without I and O, and the department. */
const formerForm = /^0*([1-9]\d{0,3})([A-HJ-NP-Z]{1,3})(0[1-9]|[1-8]\d|9[0-5]|2[AB]|97[1-8]|98[4-8])$/;

/** A French plate: `key` for comparing, `display` as it is written. */
export interface Plate {
  key: string;
  display: string;
}

/**
 * Reads a French plate, however it is separated and in whatever case.
 * @returns undefined for text that is no plate of the form of 2009 or the one before it
 */
export function normalizePlate(text: string): Plate | undefined {
  const compact = text.replace(/[\s._·–—-]/g, '');
  if (!/^[A-Za-z0-9]{1,12}$/.test(compact)) return undefined;
  const capitals = compact.toUpperCase();
  const present = presentForm.exec(capitals);
  if (present) return plateOf(present.slice(1), '-');
  const former = formerForm.exec(capitals);
  return former ? plateOf(former.slice(1), ' ') : undefined;
}

function plateOf(groups: readonly string[], separator: string): Plate {
  return { key: groups.join(''), display: groups.join(separator) };
}
