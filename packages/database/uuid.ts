const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether text is the id of a row whose key is a uuid, as PostgreSQL writes it; other text is no such row's id. */
export function isUuid(text: string): boolean {
  return form.test(text);
}
