import { hash, verify } from '@node-rs/argon2';
import { Failure } from '@odograph/contracts/failures';
import { createSecret } from '@odograph/runtime/secrets';

/** argon2id as OWASP's password storage recommendations have it; argon2id is the library's standard algorithm. */
const costs = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const minimumCharacters = 8;

/** The hash of a password nobody knows, for accounts that do not exist. */
const hashOfNobody = await hash(createSecret(), costs);

/** The argon2id hash of a person's password, as it is stored. */
export function hashPassword(password: string): Promise<string> {
  return hash(password, costs);
}

/** Whether a password belongs to a hash; without a hash it takes as long and is false. */
export async function passwordMatches(password: string, passwordHash: string | undefined): Promise<boolean> {
  const matches = await verify(passwordHash ?? hashOfNobody, password);
  return passwordHash !== undefined && matches;
}

/** @throws Failure INVALID_PASSWORD_LENGTH below 8 characters (interface specification, "Limits") */
export function requirePasswordLength(password: string): void {
  if (Array.from(password).length < minimumCharacters) throw new Failure('INVALID_PASSWORD_LENGTH');
}
