/** Redis channel on which changed key lists are announced to the command service. */
export function keyListChannel(prefix: string): string {
  return `${prefix}:key-lists`;
}

/** Formats the id by which a device acknowledges a key list on v1/devices/{id}/acks. */
export function keyListAcknowledgementId(version: number): string {
  return `keys:${version}`;
}

/** Parses the version from the id of an acknowledgement; undefined for the acknowledgement of a command. */
export function parseKeyListAcknowledgementId(id: string): number | undefined {
  const digits = /^keys:(\d{1,15})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
