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

interface SealingKey {
  /** The first bytes of a hash of the key: names it in what it sealed. */
  id: Buffer;
  key: Buffer;
}

function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'odograph', purpose, 32));
}

/** Seals bytes at rest under a key that is not in the database (AES-256-GCM, keys by HKDF-SHA-256). */
export class Sealer {
  readonly #keys: readonly SealingKey[];
  readonly #indexKey: Buffer;

  /** @param secrets newest first: the first seals, all of them open */
  constructor(secrets: readonly string[]) {
    const [newest] = secrets;
    if (newest === undefined) throw new Error('there is no encryption key');
    this.#keys = secrets.map((secret) => {
      const key = deriveKey(secret, 'seal');
      return { key, id: createHmac('sha256', key).update('id').digest().subarray(0, keyIdBytes) };
    });
    this.#indexKey = deriveKey(secrets.at(-1) ?? newest, 'index');
  }

  /** @param context binds the bytes to their place: they open only with the same */
  seal(bytes: Buffer, context: string): Buffer {
    const [current] = this.#keys;
    if (!current) throw new Error('there is no encryption key');
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, current.key, nonce).setAAD(Buffer.from(context));
    return Buffer.concat([current.id, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  }

  /** @throws when the key is not known, or the bytes or their context were changed */
  open(sealed: Buffer, context: string): Buffer {
    const found = this.#keys.find(({ id }) => id.equals(sealed.subarray(0, keyIdBytes)));
    if (!found) throw new Failure('INTERNAL_ERROR', 'sealed with a key that is not in ENCRYPTION_KEYS');
    const nonce = sealed.subarray(keyIdBytes, keyIdBytes + nonceBytes);
    const decipher = createDecipheriv(algorithm, found.key, nonce).setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return Buffer.concat([decipher.update(sealed.subarray(keyIdBytes + nonceBytes, -tagBytes)), decipher.final()]);
  }

  /** What the sealed bytes begin with that this sealer can open. */
  get keyIds(): Buffer[] {
    return this.#keys.map(({ id }) => id);
  }

  /** Whether these bytes are sealed under one of the keys. */
  canOpen(sealed: Buffer): boolean {
    return this.#keys.some(({ id }) => id.equals(sealed.subarray(0, keyIdBytes)));
  }

  /** Whether these bytes are sealed under the newest key. */
  isCurrent(sealed: Buffer): boolean {
    return this.#keys[0]?.id.equals(sealed.subarray(0, keyIdBytes)) ?? false;
  }

  /** Tells equal bytes from others without telling the bytes: HMAC-SHA-256 under the oldest key. */
  fingerprint(bytes: Buffer): Buffer {
    return createHmac('sha256', this.#indexKey).update(bytes).digest();
  }
}

/** What binds the sealed bytes of a quarantined upload to their row. */
export function quarantineContext(deviceId: string): string {
  return `quarantine ${deviceId}`;
}

/** What binds the sealed key of a device to the device and to its version. */
export function deviceKeyContext(deviceId: string, keyVersion: number): string {
  return `device key ${keyVersion} ${deviceId}`;
}

/** The sealer of ENCRYPTION_KEYS, else of the file `encryption-key` in the data directory, made on the first start. */
export async function openSealer(config: Config): Promise<Sealer> {
  if (config.ENCRYPTION_KEYS !== undefined) return new Sealer(config.ENCRYPTION_KEYS.split(','));
  const path = join(config.DATA_DIR, 'encryption-key');
  await createSecretFile(path);
  return new Sealer([(await readFile(path, 'utf8')).trim()]);
}
