/**
 * Which devices have a live MQTT session, in Redis: a hash of device id to session (`{brokerId} {connectionId}`), and a
 * key for each broker that expires unless the broker renews it. A device is live when its broker's key exists.
 */
export function presenceKey(prefix: string): string {
  return `${prefix}:presence`;
}

/** Names the hash of device id to the time, in UNIX milliseconds, at which its last MQTT session ended. */
export function disconnectedKey(prefix: string): string {
  return `${prefix}:disconnected`;
}

/** Names the key that a running broker renews. */
export function brokerKey(prefix: string, brokerId: string): string {
  return `${prefix}:broker:${brokerId}`;
}

/** Reads the broker id from a value of the presence hash. */
export function brokerOfSession(session: string): string {
  return session.split(' ', 1)[0] ?? '';
}

/** Redis channel with the ids of devices whose sessions must end: deleted, or with a replaced secret. */
export function deviceRevokedChannel(prefix: string): string {
  return `${prefix}:device-revoked`;
}
