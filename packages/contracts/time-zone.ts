/** Tests whether a name is an IANA time zone. Offsets are rejected: PostgreSQL reads their sign inverted (POSIX). */
export function isTimeZone(name: string): boolean {
  try {
    return /^[A-Z]/i.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions() !== undefined;
  } catch {
    return false;
  }
}
