import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '@odograph/contracts/failures';
import type { Config } from './config.ts';
import { createSecretFile } from './secrets.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const keyIdBytes = 4;

/** Purpose of sealed values. Each has its own keys, so a value of one never opens as a value of another. */
export type SealingPurpose =
  | 'device keys'
  | 'quarantine'
  | 'source tokens'
  | 'webhook secrets'
  | 'second factors'
  | `answers ${string}`;

interface SealingKey {
  /** First bytes of a hash of the key; every sealed value starts with the id of its key. */
  id: Buffer;
  key: Buffer;
}

function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'odograph', purpose, 32));
}

/** Encrypts values at rest under a key that is not in the database (AES-256-GCM; keys by HKDF-SHA-256, RFC 5869). */
export class Sealer {
  readonly #keys: readonly SealingKey[];
  readonly #indexKey: Buffer;

  /** @param secrets newest first: the first seals, all of them open */
  constructor(secrets: readonly string[], purpose: SealingPurpose) {
    const [newest] = secrets;
    if (newest === undefined) throw new Error('there is no encryption key');
    this.#keys = secrets.map((secret) => {
      const key = deriveKey(secret, `seal ${purpose}`);
      return { key, id: createHmac('sha256', key).update('id').digest().subarray(0, keyIdBytes) };
    });
    this.#indexKey = deriveKey(secrets.at(-1) ?? newest, `index ${purpose}`);
  }

  /** @param context binds the value to its place: it opens only with the same context */
  seal(bytes: Buffer, context: string): Buffer {
    const [current] = this.#keys;
    if (!current) throw new Error('there is no encryption key');
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, current.key, nonce).setAAD(Buffer.from(context));
    return Buffer.concat([current.id, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws Error if the key is unknown, or the value or its context was changed */
  open(sealed: Buffer, context: string): Buffer {
    const found = this.#keys.find(({ id }) => id.equals(sealed.subarray(0, keyIdBytes)));
    if (!found) throw new Failure('INTERNAL_ERROR', 'sealed with a key that is not in ENCRYPTION_KEYS');
    const nonce = sealed.subarray(keyIdBytes, keyIdBytes + nonceBytes);
    const decipher = createDecipheriv(algorithm, found.key, nonce).setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([decipher.update(sealed.subarray(keyIdBytes + nonceBytes, -tagBytes)), decipher.final()]);
  }

  /** Ids of the known keys; a value that starts with one of them can be opened. */
  get keyIds(): Buffer[] {
    return this.#keys.map(({ id }) => id);
  }

  /** Whether one of the keys opens this value. */
  canOpen(sealed: Buffer): boolean {
    return this.#keys.some(({ id }) => id.equals(sealed.subarray(0, keyIdBytes)));
  }

  /** Whether this value is sealed under the newest key. */
  isCurrent(sealed: Buffer): boolean {
    return this.#keys[0]?.id.equals(sealed.subarray(0, keyIdBytes)) ?? false;
  }

  /** Identifies equal bytes without revealing them: HMAC-SHA-256 under the oldest key. */
  fingerprint(bytes: Buffer): Buffer {
    return createHmac('sha256', this.#indexKey).update(bytes).digest();
  }
}

/** Context of a quarantined upload. */
export function quarantineContext(deviceId: string): string {
  return `quarantine ${deviceId}`;
}

/** Context of the token by which commands are sent to a source. */
export function sourceTokenContext(sourceId: string): string {
  return `source token ${sourceId}`;
}

/** Context of a device key: the device and the version of the key. */
export function deviceKeyContext(deviceId: string, keyVersion: number): string {
  return `device key ${keyVersion} ${deviceId}`;
}

/** Context of the secret of a webhook. */
export function webhookSecretContext(webhookId: string): string {
  return `webhook secret ${webhookId}`;
}

/** Context of the secret of a second factor. */
export function secondFactorContext(factorId: string): string {
  return `second factor ${factorId}`;
}

/** Context of the VAPID private key of the installation. */
export const pushKeyContext = 'push key';

/** Reads ENCRYPTION_KEYS, else the file `encryption-key` in the data directory; empty when there is neither. */
export async function readEncryptionKeys({ ENCRYPTION_KEYS, DATA_DIR }: Config): Promise<string[]> {
  if (ENCRYPTION_KEYS !== undefined) return ENCRYPTION_KEYS.split(',');
  const content = await readFile(join(DATA_DIR, 'encryption-key'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return content.trim() === '' ? [] : [content.trim()];
}

/** Opens a sealer with ENCRYPTION_KEYS, else with the file `encryption-key` in the data directory, created when missing. */
export async function openSealer(config: Config, purpose: SealingPurpose): Promise<Sealer> {
  if (config.ENCRYPTION_KEYS === undefined) await createSecretFile(join(config.DATA_DIR, 'encryption-key'));
  return new Sealer(await readEncryptionKeys(config), purpose);
}
