import type { CommandMessage } from './commands.ts';

/**
 * Names the hash in Redis from device id to session (`{brokerId} {number}`). A device is live while the key of the
 * broker or gateway in its entry exists; that key expires unless it is renewed. Of two sessions of a device, the one
 * with the higher number is newer.
 */
export function presenceKey(prefix: string): string {
  return `${prefix}:presence`;
}

/** Names the counter from which sessions take their numbers. */
export function sessionNumberKey(prefix: string): string {
  return `${prefix}:session-number`;
}

/** Names the hash from device id to the time, in UNIX milliseconds, at which its last session ended. */
export function disconnectedKey(prefix: string): string {
  return `${prefix}:disconnected`;
}

/** Names the key that a running broker or gateway renews, and the channel on which it receives its messages. */
export function brokerKey(prefix: string, brokerId: string): string {
  return `${prefix}:broker:${brokerId}`;
}

/** Names the channel to every gateway, for commands to devices behind a source, which have no session. */
export function gatewaysChannel(prefix: string): string {
  return `${prefix}:gateways`;
}

/** Reads the id of the broker or gateway from a value of the presence hash. */
export function brokerOfSession(session: string): string {
  return session.split(' ', 1)[0] ?? '';
}

/** A JSON message to the broker or gateway that holds the session of a device. */
export type SessionMessage =
  | { readonly kind: 'command'; readonly deviceId: string; readonly command: CommandMessage }
  /** The device has a newer key list: the JSON of a KeyListMessage. */
  | { readonly kind: 'key-list'; readonly deviceId: string; readonly list: string }
  /** The device has a session with this number elsewhere; decimal digits, as Lua writes them. */
  | { readonly kind: 'session'; readonly deviceId: string; readonly number: string };

/** Names the hash from device id to the newest key list of the device, the JSON of a KeyListMessage. */
export function keyListsKey(prefix: string): string {
  return `${prefix}:key-lists:newest`;
}

/** Names the key that is missing once Redis has lost its key lists. */
export function keyListRetentionKey(prefix: string): string {
  return `${prefix}:key-lists:kept`;
}

/** Redis channel with the ids of devices whose sessions must be checked: deleted, or with a replaced secret. */
export function deviceRevokedChannel(prefix: string): string {
  return `${prefix}:device-revoked`;
}
