import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { AedesOptions, Client } from 'aedes';
import type { BrokerMetrics } from '../metrics.ts';
import type { DeviceSession, Session, Sessions } from '../sessions/session.ts';
import type { ThrottledLog } from '../throttled-log.ts';
import type { ConnectAttempts } from './attempts.ts';
import { clientCertificateOf } from './client-certificate.ts';
import { createIdentify, type Given, type IdentifyOptions } from './identify.ts';

type Authenticate = NonNullable<AedesOptions['authenticate']>;
type Done = Parameters<Authenticate>[3];
type Identify = ReturnType<typeof createIdentify>;

/** CONNACK return codes [MQTT-3.2.2.3]. */
const serverUnavailable = 3;
const badUserNameOrPassword = 4;

const deviceIdLength = 64;
/** How long the answer to somebody waits who has failed too often. */
const slowAnswerMs = 1000;

export interface AuthenticateOptions extends IdentifyOptions {
  readonly sessions: Sessions;
  readonly attempts: ConnectAttempts;
  readonly metrics: BrokerMetrics;
  readonly log: ThrottledLog;
}

/** What came of a CONNECT: a session, or why there is none. */
type Outcome = Session | 'credentials' | 'unavailable' | 'attempts';

/**
 * A will never outlives its CONNECT: it would be published in the name of a device that is gone, past the answer that says
 * whether it was kept. What a device has to say it says while it is there.
 */
export const dropWill: NonNullable<AedesOptions['preConnect']> = (_client, packet, callback) => {
  delete packet.will;
  callback(null, true);
};

/**
 * clientId = username = device id, password = its secret, or a client certificate; "Connecting" in docs/device-protocol.md.
 * An unknown device and a wrong secret get the same answer (4); 3 means that nobody can or will tell now, so the device
 * comes again. CONNACK waits for the session to be in Redis, so that a command sent right after it finds the device there.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { credentials, presence, sessions, metrics, log } = options;
  const judge = createJudge(options, createIdentify(options));

  const endOverlap = async ({ deviceId, replaces }: DeviceSession): Promise<void> => {
    if (replaces === undefined) return;
    await credentials.confirm(deviceId, replaces).catch((error: unknown) => {
      log('an earlier secret could not be ended: the next connection tries again', { err: error, deviceId });
    });
  };

  const admit = async (client: Client, given: Given, done: Done): Promise<void> => {
    const outcome = await judge(client, given);
    if (client.closed) return;
    if (typeof outcome === 'string') {
      metrics.refused.inc({ reason: outcome });
      if (outcome !== 'credentials') return done(refusal(serverUnavailable, 'the platform cannot tell now'), false);
      log('a connection was refused: wrong id or secret', { clientId: shortId(client) });
      return done(refusal(badUserNameOrPassword, 'wrong id or secret'), false);
    }
    sessions.set(client, outcome);
    // On the list of live sessions before anything is awaited: from here on a change of its credentials finds it there.
    if (outcome.kind === 'device') await Promise.all([presence.arrive(outcome), endOverlap(outcome)]);
    done(null, true);
  };
  return (client, username, password, done) => void admit(client, { username, password }, done);
}

/** Identifies the sender of a CONNECT unless too many like it have failed; see connect-attempts.ts. */
function createJudge({ attempts, metrics, log }: AuthenticateOptions, identify: Identify) {
  const judge = async (client: Client, given: Given): Promise<Outcome> => {
    const address = (client.conn as Socket).remoteAddress ?? '';
    const deviceId = shortId(client);
    const judgement = attempts.judge(address, deviceId, performance.now());
    if (judgement !== 'admit') {
      metrics.slowed.inc();
      await delay(slowAnswerMs);
      if (client.closed || judgement === 'refuse') return 'attempts';
    }
    const session = await identify(client, given);
    if (session === undefined) attempts.failed(address, deviceId, performance.now());
    else attempts.succeeded(address, deviceId);
    return session ?? 'credentials';
  };
  return async (client: Client, given: Given): Promise<Outcome> => {
    try {
      // Who has a certificate has not guessed it.
      if (clientCertificateOf(client.conn)?.commonName === client.id)
        return (await identify(client, given)) ?? 'credentials';
      return await judge(client, given);
    } catch (error) {
      log('a connection could not be authenticated', { err: error, clientId: shortId(client) });
      return 'unavailable';
    }
  };
}

function shortId(client: Client): string {
  return client.id.slice(0, deviceIdLength);
}

/** aedes answers with the code that the error carries. */
function refusal(returnCode: number, message: string): Parameters<Done>[0] {
  return Object.assign(new Error(message), { returnCode }) as Parameters<Done>[0];
}
