import { createHash } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import Type from 'typebox';

/** Names a state of what people change: another state has another version. @param state the members that a change can set */
export function versionOf(state: object): string {
  return createHash('sha256').update(JSON.stringify(state)).digest('base64url').slice(0, 16);
}

/** The version in an answer. */
export const Version = Type.String({
  description: 'names what can be changed as it is now; for `version` of the change',
  examples: ['pV9kD2mZ0aQ4rT7x'],
});

/** The version in the body of a change. */
export const ExpectedVersion = Type.Optional(
  Type.String({
    maxLength: 64,
    description: 'from the answer that the change is based on: CHANGED_MEANWHILE unless it is still so',
    examples: ['pV9kD2mZ0aQ4rT7x'],
  }),
);

/**
 * Checks that what a person changes is as the person saw it; lock it first.
 * @throws Failure CHANGED_MEANWHILE
 */
export function requireVersion(expected: string | undefined, state: object): void {
  if (expected !== undefined && expected !== versionOf(state)) throw new Failure('CHANGED_MEANWHILE');
}
