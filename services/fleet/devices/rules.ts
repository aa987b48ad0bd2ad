import { randomInt } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';

/** Without characters that are easily confused; 16 of them have 78 bits. */
const alphabet = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const groups = 4;
const groupLength = 4;

/** Creates a claim code to be printed on a device or its packaging, such as `7KQM-XW3A-94TF-BCPR`. */
export function createClaimCode(): string {
  const group = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: groups }, group).join('-');
}

/** Hashes a claim code for storage; case, spaces and hyphens do not count. */
export function hashClaimCode(code: string): Buffer {
  return hashSecret(code.toUpperCase().replace(/[^A-Z0-9]/g, ''));
}

/** Checks the claim code of a device without an owner. @throws Failure INVALID_CLAIM_CODE */
export function requireClaimCode(presented: string | undefined, stored: Buffer | null): void {
  if (stored === null || presented === undefined || !equalSecrets(hashClaimCode(presented), stored)) {
    throw new Failure('INVALID_CLAIM_CODE', undefined, { field: 'claimCode' });
  }
}
