import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { type AddressRules, ForbiddenAddress, requireLiteralPermitted } from '../delivery/addresses.ts';

/** Maximum webhooks of an application; each reads the list of events. */
export const maxWebhooks = 50;
/** Time for which both secrets sign after a rotation. */
export const rotationHours = 24;

/** Refuses users: a webhook sends events of the whole application. @throws Failure UNAUTHORIZED */
export function requireApplication({ userId }: Caller): void {
  if (userId !== undefined) throw new Failure('UNAUTHORIZED', 'a webhook belongs to an application, not to a user');
}

/**
 * Validates the text of a URL that an application chose. The addresses of its host are checked at each connection.
 * @returns it as it is sent to, without its fragment
 * @throws Failure INVALID_PARAMETER
 */
export function requireUrl(text: string, rules: AddressRules, field = 'url'): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalidParameter(field, 'must be an https URL');
  if (url.username !== '' || url.password !== '') {
    throw invalidParameter(field, 'must not contain a user name');
  }
  try {
    requireLiteralPermitted(url, rules);
  } catch (error) {
    if (error instanceof ForbiddenAddress) throw invalidParameter(field, `is refused: ${error.message}`);
    throw error;
  }
  url.hash = '';
  return url.href;
}

/** @throws Failure UNKNOWN_VEHICLE for text that is no vehicle id */
export function requireVehicleIds(ids: readonly string[] | undefined): number[] | undefined {
  return ids?.map((id) => {
    const number = parseVehicleId(id);
    if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
    return number;
  });
}

/** @throws Failure NOT_FOUND for a malformed identifier */
export function requireId(id: string, resource: 'webhook' | 'notification' = 'webhook'): string {
  if (!isUuid(id)) throw new Failure('NOT_FOUND', `no such ${resource}`);
  return id;
}

/** Continues a page of dead letters. */
export interface DeadLetterCursor {
  readonly failedAt: string;
  readonly eventId: string;
}

export const formatDeadLetterCursor = ({ failedAt, eventId }: DeadLetterCursor): string => `${failedAt}_${eventId}`;

/** @throws Failure INVALID_PARAMETER for text that formatDeadLetterCursor does not return */
export function parseDeadLetterCursor(text: string): DeadLetterCursor {
  const [, failedAt = '', eventId = ''] = /^([0-9T:.Z-]{20,30})_(.+)$/.exec(text) ?? [];
  if (eventId === '') throw invalidParameter('after', 'must be the position of a list');
  return { failedAt: isoMicroseconds(parseTimestamp('after', failedAt)), eventId };
}
