/** A UUID in its text form (RFC 9562), as a regular expression. */
export const uuidPattern = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';
const form = new RegExp(uuidPattern);

/** Tests whether text is a UUID, so that PostgreSQL can compare it with a uuid column. */
export function isUuid(text: string): boolean {
  return form.test(text);
}
