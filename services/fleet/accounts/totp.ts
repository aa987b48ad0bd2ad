import { createHmac } from 'node:crypto';
import { equalSecrets } from '@odograph/runtime/secrets';

/** The output length of SHA-1 (RFC 4226, section 4). */
export const totpSecretBytes = 20;
const stepMs = 30_000;
const digits = 6;
const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Encodes bytes in base32 without padding, as authenticator apps expect (RFC 4648, section 6). */
export function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => base32Alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** Builds the URI that provisions an authenticator app (Google Authenticator, "Key Uri Format"). */
export function totpUri(secret: Buffer, account: string): string {
  const label = encodeURIComponent(`Odograph:${account}`);
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=Odograph`;
}

/** Computes the time step of a Unix time (RFC 6238, section 4.2). */
export const totpStep = (nowMs: number): number => Math.floor(nowMs / stepMs);

/** Computes the code of a time step (RFC 4226, section 5.3, with SHA-1). */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', secret).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 0x0f;
  const truncated = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(truncated % 10 ** digits).padStart(digits, '0');
}

/**
 * Finds the time step of a code: the current, previous or next one, to tolerate clock skew.
 * @returns undefined for an invalid code
 */
export function findTotpStep(secret: Buffer, code: string, nowMs: number): number | undefined {
  const now = totpStep(nowMs);
  return [now - 1, now, now + 1].find((step) => equalSecrets(Buffer.from(totpCode(secret, step)), Buffer.from(code)));
}
