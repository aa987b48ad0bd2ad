import type { AedesOptions, PublishPacket } from 'aedes';
import type { BrokerMetrics, RefusalReason } from '../metrics.ts';
import type { DeviceSession, Sessions } from '../sessions/session.ts';
import type { ThrottledLog } from '../throttled-log.ts';
import type { AcknowledgementIntake } from './acknowledgements.ts';
import { mayCommandServicePublish, purposeOfDevice } from './authorize.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { UploadIntakes } from './upload-acceptors.ts';
import type { HeldUpload } from './upload-batch.ts';

type AuthorizePublish = NonNullable<AedesOptions['authorizePublish']>;

export interface PublishOptions {
  readonly sessions: Sessions;
  readonly held: HeldBytes;
  readonly uploads: UploadIntakes;
  readonly acknowledgements: AcknowledgementIntake;
  readonly metrics: BrokerMetrics;
  readonly log: ThrottledLog;
  /** True from the moment the broker stops: nothing more is taken. */
  stopping(): boolean;
}

/**
 * What happens to a PUBLISH before it is answered; aedes awaits this hook and nothing else before a PUBACK. A refused
 * PUBLISH closes its connection: MQTT 3.1.1 has no other no, and a PUBACK would say that it was kept [MQTT-3.3.5-2].
 * Wills never come here with anything to say: none survives its CONNECT (see authenticate.ts).
 */
export function createAuthorizePublish(options: PublishOptions): AuthorizePublish {
  const { sessions, metrics } = options;
  const acceptOfDevice = createAcceptOfDevice(options);

  return (client, packet, callback) => {
    const session = client === null ? undefined : sessions.get(client);
    let refusal: Refusal | undefined = { reason: 'publish', message: 'this may not be published' };
    if (session?.kind === 'device') refusal = acceptOfDevice(session, packet, callback);
    else if (session?.kind === 'command') {
      if (mayCommandServicePublish(packet)) return callback(null);
    }
    if (refusal === undefined) return;
    metrics.refused.inc({ reason: refusal.reason });
    callback(new Error(refusal.message));
  };
}

interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
}

/** Takes a PUBLISH of a device, to be answered when it is in the queue, or says why not. */
function createAcceptOfDevice({ held, uploads, acknowledgements, stopping }: PublishOptions) {
  return (session: DeviceSession, packet: PublishPacket, release: (error?: Error) => void): Refusal | undefined => {
    const purpose = purposeOfDevice(session, packet);
    if (purpose === undefined) return { reason: 'publish', message: 'the device may not publish this' };
    if (stopping()) return { reason: 'stopping', message: 'the broker is stopping' };
    const cost = held.costOf(packet.payload);
    if (!held.take(cost)) return { reason: 'held_bytes', message: 'too much is waiting for Redis' };
    const publication = holdPublication(session, packet, cost, release);
    if (purpose === 'telemetry') uploads.accept(publication);
    else acknowledgements.accept(publication);
    return undefined;
  };
}

function holdPublication(
  session: DeviceSession,
  { payload }: PublishPacket,
  cost: number,
  release: (error?: Error) => void,
): HeldUpload {
  return {
    session,
    client: session.client,
    payload: typeof payload === 'string' ? Buffer.from(payload) : payload,
    receivedAtMs: Date.now(),
    heldSinceMs: performance.now(),
    cost,
    release,
    settled: false,
    readingResumed: false,
    next: undefined,
  };
}
