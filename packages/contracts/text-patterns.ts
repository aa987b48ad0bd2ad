import { deviceIdPattern } from './topics.ts';

/** A UUID in its text form (RFC 9562), as a regular expression. */
export const uuidPattern = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';
const form = new RegExp(uuidPattern);

/** Tests whether text is a UUID, so that PostgreSQL can compare it with a uuid column. */
export function isUuid(text: string): boolean {
  return form.test(text);
}

/** Text that PostgreSQL can store: neither NUL nor an unpaired surrogate. For validators without the Unicode flag. */
export const storablePattern = '^(?:[^\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])*$';
/** The same for Ajv, which sets the Unicode flag. */
export const storableUnicodePattern = '^[^\\u0000\\ud800-\\udfff]*$';
/** A plate with at least one letter or digit: only those distinguish plates. */
export const platePattern = '^[^\\u0000-\\u001f\\ud800-\\udfff]*[A-Za-z0-9][^\\u0000-\\u001f\\ud800-\\udfff]*$';

/**
 * Characters that are ignored when plates are compared: spaces, punctuation and symbols. A regular expression for both
 * JavaScript and PostgreSQL.
 */
export const plateSeparators =
  '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00bf\\u2000-\\u206f\\u2212\\u3000\\u30fb]';
const separators = new RegExp(plateSeparators, 'g');

/** Returns the letters and digits of a plate, in upper case: all that distinguishes plates. */
export function plateKey(plate: string): string {
  return plate.normalize('NFC').toUpperCase().replace(separators, '');
}

const storableRule = 'must not contain NUL or half of a surrogate pair';

/** One or several of a few words, separated by commas. */
export const listPattern = (words: readonly string[]): string => `^(${words.join('|')})(,(${words.join('|')}))*$`;
const listForm = /^\^\(([\w|-]+)\)\(,\(\1\)\)\*\$$/;

/** Descriptions of patterns for error messages. Patterns that read well are not listed. */
const patternRules: ReadonlyMap<string, string> = new Map([
  [storablePattern, storableRule],
  [storableUnicodePattern, storableRule],
  [platePattern, 'must have a letter or digit, and no control characters'],
  [deviceIdPattern, 'must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -'],
  [uuidPattern, 'must be a UUID'],
]);

/** Describes the rule of a pattern in words. */
export function ruleOfPattern(pattern: string): string {
  const [, words] = listForm.exec(pattern) ?? [];
  if (words !== undefined) return `must be of ${words.replaceAll('|', ', ')}, separated by commas`;
  return patternRules.get(pattern) ?? `must match the pattern ${pattern}`;
}
