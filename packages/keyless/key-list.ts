import {
  ascii,
  bigEndian,
  concat,
  equalInConstantTime,
  fromBase64Url,
  toBase64Url,
  uuidBytes,
  uuidForm,
} from './bytes.ts';
import { deviceTag, type KeylessCrypto, listKey } from './key-hierarchy.ts';

/** An authorization that the device must refuse until a time: the end of its token if revoked, of its suspension if suspended. */
export interface ListedAuthorization {
  /** The authorization id, a UUID in lower case. */
  readonly id: string;
  readonly state: 'revoked' | 'suspended';
  /** UNIX milliseconds, exclusive. */
  readonly untilMs: number;
}

/** All revocations and suspensions for one device at one time; a newer key list replaces it entirely. */
export interface KeyList {
  /** Increases with every change. */
  readonly version: number;
  /** Version of the device key that signs tokens. */
  readonly keyVersion: number;
  /** Lowest valid epoch of a token. */
  readonly epoch: number;
  /** Time of issue, UNIX milliseconds, by the clock of the platform. */
  readonly issuedAtMs: number;
  readonly authorizations: readonly ListedAuthorization[];
}

/** The retained message on v1/devices/{id}/keys: "The key list" in docs/keyless.md. */
export interface KeyListMessage extends KeyList {
  /** HMAC-SHA-256 in base64url. */
  readonly mac: string;
}

/** Provisioned into a device. */
export interface DeviceIdentity {
  readonly deviceId: string;
  readonly deviceKey: Uint8Array;
  readonly keyVersion: number;
}

/** Signs and confirms key lists for a device. */
type Signer = Pick<DeviceIdentity, 'deviceId' | 'deviceKey'>;

const format = 2;
const confirmationFormat = 1;

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
    bigEndian(list.issuedAtMs, 8),
    bigEndian(entries.length, 4),
    ...entries,
  );
}

/** Signs a key list for one device. @param deviceKey of the version that the list names */
export function signKeyList(crypto: KeylessCrypto, { deviceId, deviceKey }: Signer, list: KeyList): KeyListMessage {
  const mac = crypto.hmacSha256(listKey(crypto, deviceKey), signedBytes(crypto, deviceId, list));
  return { ...list, mac: toBase64Url(mac) };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function parseListed(value: unknown): ListedAuthorization | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, state, untilMs } = value as Record<string, unknown>;
  if (typeof id !== 'string' || !uuidForm.test(id) || !isCount(untilMs)) return undefined;
  return state === 'revoked' || state === 'suspended' ? { id, state, untilMs } : undefined;
}

/** Parses the payload of a key list message. @returns undefined for any other text */
export function parseKeyList(text: string): KeyListMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { version, keyVersion, epoch, issuedAtMs, authorizations, mac } = value as Record<string, unknown>;
  if (!isCount(version) || !isCount(keyVersion) || !isCount(epoch) || !isCount(issuedAtMs)) return undefined;
  if (!Array.isArray(authorizations) || typeof mac !== 'string') return undefined;
  const listed = authorizations.map(parseListed).filter((one) => one !== undefined);
  if (listed.length !== authorizations.length) return undefined;
  return { version, keyVersion, epoch, issuedAtMs, authorizations: listed, mac };
}

/** The device's answer on v1/devices/{id}/acks. */
export interface KeyListAcknowledgement {
  readonly id: string;
  readonly ok: boolean;
  readonly reason?: 'KEY_VERSION' | 'MAC';
  /** HMAC-SHA-256 in base64url; present if ok. */
  readonly mac?: string;
}

/** Identifies a key list to its confirmation. */
export type ConfirmedList = Pick<KeyList, 'version' | 'keyVersion'>;

function confirmationMac(
  crypto: KeylessCrypto,
  { deviceId, deviceKey }: Signer,
  { version, keyVersion }: ConfirmedList,
): Uint8Array {
  const header = concat(ascii('confirmation'), Uint8Array.of(confirmationFormat), deviceTag(crypto, deviceId));
  return crypto.hmacSha256(listKey(crypto, deviceKey), concat(header, bigEndian(keyVersion, 2), bigEndian(version, 8)));
}

/** Signs the confirmation that a device has a key list. @returns `mac` of the acknowledgement */
export function signConfirmation(crypto: KeylessCrypto, device: Signer, list: ConfirmedList): string {
  return toBase64Url(confirmationMac(crypto, device, list));
}

/** Verifies `mac` of an acknowledgement in constant time: only the holder of the device key can confirm a key list. */
export function isConfirmation(crypto: KeylessCrypto, device: Signer, list: ConfirmedList, mac: string): boolean {
  const bytes = fromBase64Url(mac);
  return bytes !== undefined && equalInConstantTime(confirmationMac(crypto, device, list), bytes);
}

/**
 * Verifies a received key list. The highest version wins, of equal ones the later issue, in whatever order lists arrive.
 * @returns the list to keep in non-volatile memory, and the acknowledgement to send
 */
export function acceptKeyList(
  crypto: KeylessCrypto,
  device: DeviceIdentity,
  current: KeyList | undefined,
  message: KeyListMessage,
): { list: KeyList | undefined; acknowledgement: KeyListAcknowledgement } {
  const { mac: given, ...list } = message;
  const refuse = (reason: 'KEY_VERSION' | 'MAC') => ({
    list: current,
    acknowledgement: { id: `keys:${list.version}`, ok: false, reason },
  });
  if (list.keyVersion !== device.keyVersion) return refuse('KEY_VERSION');
  const mac = crypto.hmacSha256(listKey(crypto, device.deviceKey), signedBytes(crypto, device.deviceId, list));
  const bytes = fromBase64Url(given);
  if (!bytes || !equalInConstantTime(mac, bytes)) return refuse('MAC');
  const newest = current && isNewer(current, list) ? current : list;
  const confirmation = signConfirmation(crypto, device, { version: newest.version, keyVersion: device.keyVersion });
  return { list: newest, acknowledgement: { id: `keys:${newest.version}`, ok: true, mac: confirmation } };
}

function isNewer(list: KeyList, other: KeyList): boolean {
  return list.version === other.version ? list.issuedAtMs > other.issuedAtMs : list.version > other.version;
}
