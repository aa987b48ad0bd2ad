import { hash, verify } from '@node-rs/argon2';
import { Failure } from '@odograph/contracts/failures';
import { createSecret } from '@odograph/runtime/secrets';
import Type from 'typebox';

/** argon2id with the parameters of the OWASP Password Storage Cheat Sheet; argon2id is the library's default. */
const costs = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const minCharacters = 8;

/** A new password. The schema admits short ones, because they have their own failure code. */
export const NewPassword = Type.String({
  maxLength: 1024,
  description: 'at least 8 characters',
  writeOnly: true,
  examples: ['correct horse battery'],
  documentedAs: { minLength: 8 },
});

/** Verified against for an account that does not exist, so that both answers take the same time. */
const hashOfRandomSecret = await hash(createSecret(), costs);

/** Hashes a password with argon2id for storage. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, costs);
}

/** Compares a password with its hash. Without a hash the result is false, after the same time. */
export async function passwordMatches(password: string, passwordHash: string | undefined): Promise<boolean> {
  const matches = await verify(passwordHash ?? hashOfRandomSecret, password);
  return passwordHash !== undefined && matches;
}

/** @throws Failure INVALID_PASSWORD_LENGTH below 8 characters (interface specification, "Limits") */
export function requirePasswordLength(password: string): void {
  if (Array.from(password).length < minCharacters) throw new Failure('INVALID_PASSWORD_LENGTH');
}
