/** Whether a name is in the IANA time zone database. An offset is none: PostgreSQL reads its sign the other way round. */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Z]/i.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions() !== undefined;
  } catch {
    return false;
  }
}
