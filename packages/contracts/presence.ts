/**
 * Which devices have a live MQTT session, in Redis: a hash of device id to session (`{brokerId} {connectionId}`), and a
 * key for each broker that expires when the broker is gone. A device is live when its broker's key exists.
 */
export function presenceKey(prefix: string): string {
  return `${prefix}:presence`;
}

/** The key that a living broker keeps alive. */
export function brokerKey(prefix: string, brokerId: string): string {
  return `${prefix}:broker:${brokerId}`;
}

/** The broker named in a field of the presence hash. */
export function brokerOfSession(session: string): string {
  return session.split(' ', 1)[0] ?? '';
}

/** The Redis channel that names each device whose secret was replaced or that was deleted: its session ends. */
export function deviceRevokedChannel(prefix: string): string {
  return `${prefix}:device-revoked`;
}
