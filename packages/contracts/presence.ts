/**
 * Which devices have a live session at a broker or a gateway, in Redis: a hash of device id to session (`{brokerId}
 * {connectionId}`), and a key for each broker and gateway that expires unless it is renewed. A device is live while that
 * key exists.
 */
export function presenceKey(prefix: string): string {
  return `${prefix}:presence`;
}

/** Names the hash of device id to the time, in UNIX milliseconds, at which its last session ended. */
export function disconnectedKey(prefix: string): string {
  return `${prefix}:disconnected`;
}

/** Names the key that a running broker or gateway renews. */
export function brokerKey(prefix: string, brokerId: string): string {
  return `${prefix}:broker:${brokerId}`;
}

/** Reads the id of the broker or gateway from a value of the presence hash. */
export function brokerOfSession(session: string): string {
  return session.split(' ', 1)[0] ?? '';
}

/** Redis channel with the ids of devices whose sessions must be checked: deleted, or with a replaced secret. */
export function deviceRevokedChannel(prefix: string): string {
  return `${prefix}:device-revoked`;
}
