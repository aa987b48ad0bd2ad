import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { isNumbered } from '@odograph/database/migrate';
import Type, { type Static } from 'typebox';

/** Version of the layout of backup files. */
export const formatVersion = 1;

/** `manifest.json`, the last entry of a backup. */
export const Manifest = Type.Object({
  formatVersion: Type.Literal(formatVersion),
  createdAt: Type.String(),
  /** Version of the platform. */
  version: Type.String(),
  engine: Type.Object({ postgres: Type.String(), timescaledb: Type.String() }),
  migrations: Type.Array(Type.Object({ name: Type.String(), sha256: Type.String() })),
  tables: Type.Array(
    Type.Object({
      name: Type.String(),
      columns: Type.Array(Type.String()),
      rows: Type.Integer(),
      sha256: Type.String(),
    }),
  ),
  sequences: Type.Array(Type.Object({ name: Type.String(), value: Type.Union([Type.String(), Type.Null()]) })),
  /** The chains of the audit; `fault` says why one does not verify. */
  audit: Type.Array(
    Type.Object({
      chain: Type.Integer(),
      length: Type.Integer(),
      head: Type.String(),
      fault: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  settings: Type.Record(Type.String(), Type.Unknown()),
  /** Jobs of acknowledged uploads that were still queued; null when Redis was unavailable. */
  queuedJobs: Type.Union([Type.Integer(), Type.Null()]),
});
export type Manifest = Static<typeof Manifest>;

/** Returns the newest migration of a backup, which names its schema. */
export function schemaOf({ migrations }: Pick<Manifest, 'migrations'>): string {
  return (
    migrations
      .map(({ name }) => name)
      .filter(isNumbered)
      .sort()
      .at(-1) ?? 'none'
  );
}

const algorithm = 'aes-256-gcm';
const keyBytes = 32;
/** 64 MiB and about a tenth of a second for each guess of the passphrase (RFC 7914). */
const cost = { N: 2 ** 16, r: 8, p: 1 };
const maximumMemory = 256 * 1024 * 1024;

/** Secrets encrypted under a passphrase; binary members in base64. */
export const EncryptedSecrets = Type.Object({
  salt: Type.String(),
  nonce: Type.String(),
  tag: Type.String(),
  data: Type.String(),
});
export type EncryptedSecrets = Static<typeof EncryptedSecrets>;

function deriveKey(passphrase: string, salt: Buffer): Buffer {
  return scryptSync(passphrase, salt, keyBytes, { ...cost, maxmem: maximumMemory });
}

/** Encrypts secrets by scrypt and AES-256-GCM. */
export function encryptSecrets(secrets: Readonly<Record<string, string>>, passphrase: string): EncryptedSecrets {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv(algorithm, deriveKey(passphrase, salt), nonce);
  const data = Buffer.concat([cipher.update(JSON.stringify(secrets), 'utf8'), cipher.final()]);
  const encode = (bytes: Buffer) => bytes.toString('base64');
  return { salt: encode(salt), nonce: encode(nonce), tag: encode(cipher.getAuthTag()), data: encode(data) };
}

/**
 * Decrypts the secrets of a backup.
 * @throws Error for a wrong passphrase
 */
export function decryptSecrets(encrypted: EncryptedSecrets, passphrase: string): Record<string, string> {
  const decode = (text: string) => Buffer.from(text, 'base64');
  const decipher = createDecipheriv(algorithm, deriveKey(passphrase, decode(encrypted.salt)), decode(encrypted.nonce));
  decipher.setAuthTag(decode(encrypted.tag));
  try {
    const text = Buffer.concat([decipher.update(decode(encrypted.data)), decipher.final()]).toString('utf8');
    return JSON.parse(text) as Record<string, string>;
  } catch (cause) {
    throw new Error('wrong passphrase: the keys in the backup cannot be decrypted', { cause });
  }
}
