import { CommandAcknowledgement } from '@odograph/contracts/commands';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { isUuid } from '@odograph/contracts/text-patterns';
import { parseKeyListAcknowledgementId } from '@odograph/contracts/topics';
import { describeDatabaseError, type RefusedWork } from '@odograph/database/postgres-failure';
import type { Sealer } from '@odograph/runtime/sealing';
import Value from 'typebox/value';
import { confirmKeyList } from './keys/confirm.ts';
import type { CommandContext } from './send-command.ts';
import { acknowledgeCommand, recordAnswer } from './transitions.ts';

/** Makes text storable in PostgreSQL: without NUL, and with U+FFFD for an unpaired surrogate. */
function storable(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/** Parses the acknowledgement of a command or of a key list; undefined for anything else. */
export function parseAcknowledgement(text: string): CommandAcknowledgement | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Value.Check(CommandAcknowledgement, value)) return undefined;
  if (!isUuid(value.id) && parseKeyListAcknowledgementId(value.id) === undefined) return undefined;
  return {
    id: value.id,
    ok: value.ok,
    ...(value.status === undefined ? {} : { status: storable(value.status) }),
    ...(value.reason === undefined ? {} : { reason: storable(value.reason) }),
    ...(value.mac === undefined ? {} : { mac: value.mac }),
    ...(value.outcome === undefined ? {} : { outcome: value.outcome }),
  };
}

export interface AcknowledgementContext extends Pick<CommandContext, 'db' | 'events' | 'logger'> {
  readonly sealer: Sealer;
  readonly refused: RefusedWork;
}

/**
 * Records one acknowledgement and announces the end of its command. One that is repeated, malformed, of another device or
 * refused by the database for good changes nothing; it is never tried again, and the outcome of its command is unknown.
 * @throws when the database is unavailable
 */
export async function acknowledge(
  { db, sealer, refused, events, logger }: AcknowledgementContext,
  job: QueuedAcknowledgement,
): Promise<void> {
  const { deviceId, text, receivedAtMs } = job;
  const acknowledgement = parseAcknowledgement(text);
  if (!acknowledgement) {
    logger.warn({ deviceId }, 'malformed acknowledgement dropped');
    return;
  }
  try {
    if (acknowledgement.outcome) return await recordAnswer(db, deviceId, acknowledgement);
    if (await confirmKeyList({ db, sealer, logger }, deviceId, acknowledgement)) return;
    const command = await acknowledgeCommand(db, deviceId, acknowledgement, receivedAtMs);
    if (command) events.announce([command]);
    else logger.debug({ deviceId }, 'acknowledgement ignored: no command in flight');
  } catch (error) {
    if (!refused.isPermanent([job], error)) {
      refused.failed(job, error);
      throw error;
    }
    logger.error({ deviceId, ...describeDatabaseError(error) }, 'acknowledgement dropped: the database refuses it');
  }
}
