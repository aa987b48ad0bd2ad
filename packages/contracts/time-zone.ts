/** The rule for the field of a time zone. */
export const timeZoneRule = 'must be UTC, GMT or an IANA time zone with an area, such as Europe/Paris';

const oceans = 'Arctic|Atlantic|Indian|Pacific';
const lands = 'Africa|America|Antarctica|Asia|Australia|Brazil|Canada|Chile|Europe|Mexico|US';
/**
 * PostgreSQL reads names without an area as abbreviations first (CET is always UTC+1), and the sign of offsets
 * inverted.
 */
const safeForm = new RegExp(`^(UTC|GMT|(${oceans}|${lands}|Etc)/.+)$`, 'i');

/** Tests whether a name is a time zone with the same meaning in JavaScript and PostgreSQL. */
export function isTimeZone(name: string): boolean {
  try {
    return safeForm.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions() !== undefined;
  } catch {
    return false;
  }
}
