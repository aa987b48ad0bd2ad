import { AcknowledgementMessage } from '@odograph/contracts/commands';
import { parseKeyListAcknowledgementId } from '@odograph/contracts/key-lists';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import type { Sealer } from '@odograph/runtime/sealing';
import Value from 'typebox/value';
import type { CommandEvents } from './command-events.ts';
import { confirmKeyList } from './keys/confirm.ts';
import { acknowledgeCommand } from './queries.ts';

/** Text as PostgreSQL can store it: without NUL, and with U+FFFD for half a surrogate pair. */
function storable(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/** What a device said of a command or of a list of keys; undefined for anything that cannot be of one. */
export function parseAcknowledgement(text: string): AcknowledgementMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Value.Check(AcknowledgementMessage, value)) return undefined;
  if (!isUuid(value.id) && parseKeyListAcknowledgementId(value.id) === undefined) return undefined;
  return {
    id: value.id,
    ok: value.ok,
    ...(value.status === undefined ? {} : { status: storable(value.status) }),
    ...(value.reason === undefined ? {} : { reason: storable(value.reason) }),
    ...(value.mac === undefined ? {} : { mac: value.mac }),
  };
}

/** Records one acknowledgement and wakes whoever waits for it. A repeated, foreign or malformed one changes nothing. */
export async function acknowledge(
  { db, sealer, events, logger }: { db: Database; sealer: Sealer; events: CommandEvents; logger: Logger },
  { deviceId, text }: Pick<QueuedAcknowledgement, 'deviceId' | 'text'>,
): Promise<void> {
  const acknowledgement = parseAcknowledgement(text);
  if (!acknowledgement) {
    logger.warn({ deviceId }, 'a malformed acknowledgement was dropped');
    return;
  }
  if (await confirmKeyList({ db, sealer, logger }, deviceId, acknowledgement)) return;
  const command = await acknowledgeCommand(db, deviceId, acknowledgement);
  if (command) events.announce([command]);
  else logger.debug({ deviceId }, 'an acknowledgement changed nothing');
}
