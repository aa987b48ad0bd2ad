import type { AedesOptions, Client } from 'aedes';
import { createIdentify, type Given, type IdentifyOptions } from './identify.ts';
import type { BrokerMetrics } from './metrics.ts';
import type { QuietLog } from './quiet-log.ts';
import type { Sessions } from './sessions.ts';

type Authenticate = NonNullable<AedesOptions['authenticate']>;
type Done = Parameters<Authenticate>[3];

/** CONNACK return codes [MQTT-3.2.2.3]. */
const serverUnavailable = 3;
const badUserNameOrPassword = 4;

const deviceIdLength = 64;

export interface AuthenticateOptions extends IdentifyOptions {
  readonly sessions: Sessions;
  readonly metrics: BrokerMetrics;
  readonly log: QuietLog;
}

/**
 * A will never outlives its CONNECT: it would be published in the name of a device that is gone, past the answer that says
 * whether it was kept. What a device has to say it says while it is there.
 */
export const dropWill: NonNullable<AedesOptions['preConnect']> = (_client, packet, callback) => {
  delete packet.will;
  callback(null, true);
};

/**
 * clientId = username = device id, password = its secret; "What a device says and hears" in docs/device-protocol.md.
 * An unknown device and a wrong secret get the same answer (4); 3 means that nobody could tell, so the device comes again.
 * CONNACK waits for the session to be in Redis, so that a command sent right after it finds the device there.
 */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { presence, sessions, metrics, log } = options;
  const identify = createIdentify(options);

  const admit = async (client: Client, given: Given, done: Done): Promise<void> => {
    const clientId = client.id.slice(0, deviceIdLength);
    const session = await identify(client, given).catch((error: unknown) => {
      log('a connection could not be authenticated', { err: error, clientId });
      return 'undecided' as const;
    });
    if (client.closed) return;
    if (session === 'undecided') {
      metrics.refused.inc({ reason: 'unavailable' });
      return done(refusal(serverUnavailable, 'the platform cannot tell now'), false);
    }
    if (session === undefined) {
      metrics.refused.inc({ reason: 'credentials' });
      log('a connection was refused: wrong id or secret', { clientId });
      return done(refusal(badUserNameOrPassword, 'wrong id or secret'), false);
    }
    sessions.set(client, session);
    if (session.kind === 'device') await presence.arrive(session);
    done(null, true);
  };
  return (client, username, password, done) => void admit(client, { username, password }, done);
}

/** aedes answers with the code that the error carries. */
function refusal(returnCode: number, message: string): Parameters<Done>[0] {
  return Object.assign(new Error(message), { returnCode }) as Parameters<Done>[0];
}
