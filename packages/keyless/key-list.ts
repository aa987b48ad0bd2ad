import { ascii, bigEndian, concat, equalInConstantTime, fromBase64Url, toBase64Url, uuidBytes } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { deviceTag, listKey } from './key-hierarchy.ts';

/** An authorization that must not open the box until a time: for ever, since its token ends then, or while suspended. */
export interface ListedAuthorization {
  /** The authorization id, a UUID in lower case. */
  readonly id: string;
  readonly state: 'revoked' | 'suspended';
  /** UNIX milliseconds, exclusive. */
  readonly untilMs: number;
}

/** The whole truth for one box at one time; a newer one replaces it as a whole. */
export interface KeyList {
  /** Grows with every change. */
  readonly version: number;
  /** The version of the device key that tokens are signed with. */
  readonly keyVersion: number;
  /** The least epoch of a token. */
  readonly epoch: number;
  readonly authorizations: readonly ListedAuthorization[];
}

/** The retained message on v1/devices/{id}/keys: "The list of keys" in docs/keyless.md. */
export interface KeyListMessage extends KeyList {
  /** HMAC-SHA-256 in base64url. */
  readonly mac: string;
}

/** The box an owner of keys is: what it was given when it was provisioned. */
export interface BoxIdentity {
  readonly deviceId: string;
  readonly deviceKey: Uint8Array;
  readonly keyVersion: number;
}

const format = 1;

function signedBytes(crypto: KeylessCrypto, deviceId: string, list: KeyList): Uint8Array {
  const entries = list.authorizations.map(({ id, state, untilMs }) =>
    concat(uuidBytes(id), Uint8Array.of(state === 'revoked' ? 1 : 2), bigEndian(untilMs, 8)),
  );
  return concat(
    ascii('list'),
    Uint8Array.of(format),
    deviceTag(crypto, deviceId),
    bigEndian(list.keyVersion, 2),
    bigEndian(list.epoch, 4),
    bigEndian(list.version, 8),
    bigEndian(entries.length, 4),
    ...entries,
  );
}

/** Signs a list for one box, with the key version that the list names. */
export function signKeyList(
  crypto: KeylessCrypto,
  { deviceId, deviceKey }: Pick<BoxIdentity, 'deviceId' | 'deviceKey'>,
  list: KeyList,
): KeyListMessage {
  const mac = crypto.hmacSha256(listKey(crypto, deviceKey), signedBytes(crypto, deviceId, list));
  return { ...list, mac: toBase64Url(mac) };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function parseListed(value: unknown): ListedAuthorization | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, state, untilMs } = value as Record<string, unknown>;
  if (typeof id !== 'string' || !idForm.test(id) || !isCount(untilMs)) return undefined;
  return state === 'revoked' || state === 'suspended' ? { id, state, untilMs } : undefined;
}

/** The message in text as it came over MQTT; undefined for anything that is not of that form. */
export function parseKeyList(text: string): KeyListMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { version, keyVersion, epoch, authorizations, mac } = value as Record<string, unknown>;
  if (!isCount(version) || !isCount(keyVersion) || !isCount(epoch)) return undefined;
  if (!Array.isArray(authorizations) || typeof mac !== 'string') return undefined;
  const listed = authorizations.map(parseListed).filter((one) => one !== undefined);
  if (listed.length !== authorizations.length) return undefined;
  return { version, keyVersion, epoch, authorizations: listed, mac };
}

/** What a box answers on v1/devices/{id}/acks. */
export interface KeyListAcknowledgement {
  readonly id: string;
  readonly ok: boolean;
  readonly reason?: 'KEY_VERSION' | 'MAC';
}

/**
 * Takes a list into a box: the newest it has ever had stays, whatever comes in whatever order.
 * @returns the list to keep, in memory that outlives the power, and what to answer
 */
export function acceptKeyList(
  crypto: KeylessCrypto,
  box: BoxIdentity,
  current: KeyList | undefined,
  message: KeyListMessage,
): { list: KeyList | undefined; acknowledgement: KeyListAcknowledgement } {
  const { mac: given, ...list } = message;
  const refuse = (reason: 'KEY_VERSION' | 'MAC') => ({
    list: current,
    acknowledgement: { id: `keys:${list.version}`, ok: false, reason },
  });
  if (list.keyVersion !== box.keyVersion) return refuse('KEY_VERSION');
  const mac = crypto.hmacSha256(listKey(crypto, box.deviceKey), signedBytes(crypto, box.deviceId, list));
  const bytes = fromBase64Url(given);
  if (!bytes || !equalInConstantTime(mac, bytes)) return refuse('MAC');
  const newest = current && current.version > list.version ? current : list;
  return { list: newest, acknowledgement: { id: `keys:${newest.version}`, ok: true } };
}
