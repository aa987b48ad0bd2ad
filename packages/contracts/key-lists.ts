/** The Redis channel that says that a list of keys has changed; who publishes lists looks at the database then. */
export function keyListChannel(prefix: string): string {
  return `${prefix}:key-lists`;
}

/** What a box acknowledges a list by, on v1/devices/{id}/acks. */
export function keyListAcknowledgementId(version: number): string {
  return `keys:${version}`;
}

/** The version of the list that is acknowledged; undefined when it is the acknowledgement of something else. */
export function parseKeyListAcknowledgementId(id: string): number | undefined {
  const digits = /^keys:(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
