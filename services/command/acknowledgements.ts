import {
  type AcknowledgementMessage,
  CommandAcknowledgement,
  maxMacLength,
  maxReasonLength,
  maxStatusLength,
} from '@odograph/contracts/commands';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { isUuid } from '@odograph/contracts/text-patterns';
import { parseKeyListAcknowledgementId } from '@odograph/contracts/topics';
import { appendAudit, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError, type RefusedWork } from '@odograph/database/postgres-failure';
import { isConfirmation } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import Value from 'typebox/value';
import { acknowledgeCommand, recordAnswer } from './commands.ts';
import type { CommandContext } from './send-command.ts';

/** Makes text storable in PostgreSQL: without NUL, and with U+FFFD for an unpaired surrogate. */
function storable(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/**
 * Drops a `status`, `reason` or `mac` that is invalid, and truncates a long reason: `ok` alone says whether the device
 * acted.
 */
function withValidTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { status, reason, mac, ...decisive } = value as Record<string, unknown>;
  return {
    ...decisive,
    ...(typeof status === 'string' && status.length <= maxStatusLength ? { status } : {}),
    // By code points, so that no emoji is split.
    ...(typeof reason === 'string' ? { reason: [...reason].slice(0, maxReasonLength).join('') } : {}),
    ...(typeof mac === 'string' && mac.length <= maxMacLength ? { mac } : {}),
  };
}

/**
 * Parses the acknowledgement of a command or of a key list; undefined for text without a valid `id` and `ok`. Drops
 * `status`, `reason` and `mac` if they are invalid.
 */
export function parseAcknowledgement(text: string): CommandAcknowledgement | undefined {
  let value: unknown;
  try {
    value = withValidTexts(JSON.parse(text));
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
export async function acknowledge(context: AcknowledgementContext, job: QueuedAcknowledgement): Promise<void> {
  const { db, refused, events, logger } = context;
  const { deviceId, text, receivedAtMs } = job;
  const acknowledgement = parseAcknowledgement(text);
  if (!acknowledgement) {
    logger.warn({ deviceId }, 'malformed acknowledgement dropped');
    return;
  }
  try {
    if (acknowledgement.outcome) return await recordAnswer(db, deviceId, acknowledgement);
    const listVersion = parseKeyListAcknowledgementId(acknowledgement.id);
    if (listVersion !== undefined) return await acknowledgeKeyList(context, deviceId, listVersion, acknowledgement);
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

/** Records an acknowledgement at once if a request of this process waits for it. Its queued job is then a no-op. */
export async function acknowledgeWatched(context: AcknowledgementContext, text: string): Promise<void> {
  try {
    const job = JSON.parse(text) as QueuedAcknowledgement;
    const { id } = parseAcknowledgement(job.text) ?? {};
    if (id !== undefined && context.events.isWatched(id)) await acknowledge(context, job);
  } catch (error) {
    context.logger.debug({ err: error }, 'published acknowledgement not recorded; leaving it to the queue');
  }
}

const reasonForm = /^[A-Z_]{1,64}$/;
/** Within this time of a publication, a confirmation of the previous list may still be in flight. */
const inFlightSeconds = 2;

interface DeviceKeyState {
  applicationId: number | null;
  sealed: Buffer;
  keyVersion: number;
  listVersion: number;
  confirmedVersion: number;
}

async function lockDeviceKey(db: Database, deviceId: string): Promise<DeviceKeyState | undefined> {
  const { rows } = await sql<DeviceKeyState>`select device.application_id as "applicationId",
      stored.sealed_key as sealed, stored.key_version as "keyVersion", stored.list_version as "listVersion",
      stored.confirmed_version as "confirmedVersion"
    from device_key stored join device on device.id = stored.device_id
    where stored.device_id = ${deviceId} for no key update of stored`.execute(db);
  return rows[0];
}

function isAuthentic(sealer: Sealer, deviceId: string, state: DeviceKeyState, version: number, mac: string): boolean {
  const { sealed, keyVersion } = state;
  if (!sealer.canOpen(sealed)) return false;
  const deviceKey = sealer.open(sealed, deviceKeyContext(deviceId, keyVersion));
  return isConfirmation(nodeCrypto, { deviceId, deviceKey }, { version, keyVersion }, mac);
}

/** Records that the device has this list and none newer; if a newer one was published, the newest is due again. */
async function confirm(db: Database, deviceId: string, state: DeviceKeyState, version: number): Promise<void> {
  await sql`update device_key set refused_reason = null,
      confirmed_version = greatest(confirmed_version, ${version}), confirmed_at = clock_timestamp(),
      published_version = case when ${version} < list_version and published_version = list_version
        and published_at < clock_timestamp() - ${inFlightSeconds} * interval '1 second' then 0 else published_version end
    where device_id = ${deviceId}`.execute(db);
  if (version <= state.confirmedVersion) return;
  await appendAudit(db, {
    chain: state.applicationId ?? operatorChain,
    actor: `device:${deviceId}`,
    address: '',
    action: 'key-list.confirm',
    subject: `device:${deviceId}`,
    details: { version },
    outcome: 'done',
  });
}

async function markRefused(db: Database, deviceId: string, reason: string): Promise<void> {
  await db.updateTable('device_key').set({ refused_reason: reason }).where('device_id', '=', deviceId).execute();
}

/**
 * Records the acknowledgement of a key list. A confirmation counts only with the MAC of the device key: the credentials
 * of the MQTT session do not suffice to hide a revocation from the device, or to raise its list version.
 */
async function acknowledgeKeyList(
  { db, sealer, logger }: AcknowledgementContext,
  deviceId: string,
  version: number,
  { ok, reason, mac }: AcknowledgementMessage,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const state = await lockDeviceKey(trx, deviceId);
    if (!state) return;
    if (!ok) {
      const refused = reason !== undefined && reasonForm.test(reason) ? reason : 'REFUSED';
      await markRefused(trx, deviceId, refused);
      logger.warn({ deviceId, version, reason: refused }, 'key list refused by the device');
    } else if (!isAuthentic(sealer, deviceId, state, version, mac ?? '')) {
      await markRefused(trx, deviceId, 'CONFIRMATION_MAC');
      logger.warn({ deviceId, version }, 'confirmation of a key list ignored: wrong MAC');
    } else if (version > state.listVersion) {
      // The database was restored from a backup: the device ignores every version below its own.
      await sql`update device_key set list_version = ${version} + 1 where device_id = ${deviceId}`.execute(trx);
      logger.warn({ deviceId, version }, 'the device has a newer key list than the platform');
    } else await confirm(trx, deviceId, state, version);
  });
}
