const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Tells whether a text is a UUID (RFC 9562). PostgreSQL rejects any other text where a column is a uuid. */
export function isUuid(text: string): boolean {
  return form.test(text);
}
