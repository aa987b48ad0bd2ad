import { isUtf8 } from 'node:buffer';
import type { AcknowledgementIntake } from '@odograph/queue/acknowledgement-intake';
import type { Logger } from '@odograph/runtime/logger';
import type { BrokerMetrics } from '../metrics.ts';
import type { HeldPublication, HeldPublications } from './held-publications.ts';

export const maximumAcknowledgementBytes = 4096;

export interface AcceptAcknowledgementOptions {
  readonly acknowledgements: AcknowledgementIntake;
  readonly held: HeldPublications;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/**
 * Queues an acknowledgement and then releases its PUBACK; never, when the broker stops before that. One longer than 4 KiB or
 * not UTF-8 is invalid: dropped as if it were stored, since the device would repeat it for ever without a PUBACK.
 */
export async function acceptAcknowledgement(
  { acknowledgements, held, metrics, logger }: AcceptAcknowledgementOptions,
  acknowledgement: HeldPublication,
): Promise<void> {
  const { payload, publisher, receivedAtMs } = acknowledgement;
  const { deviceId } = publisher;
  if (payload.length > maximumAcknowledgementBytes || !isUtf8(payload)) {
    metrics.refused.inc({ reason: 'acknowledgement' });
    logger.warn({ deviceId, bytes: payload.length }, 'invalid acknowledgement dropped');
    held.release(acknowledgement);
    return;
  }
  const isStored = await acknowledgements.add({ deviceId, receivedAtMs, text: payload.toString() });
  if (isStored) held.release(acknowledgement);
}
