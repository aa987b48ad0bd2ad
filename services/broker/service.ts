import { commandAccount } from '@odograph/contracts/service-accounts';
import type { Http } from '@odograph/http/http';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import { deriveSecret } from '@odograph/runtime/secrets';
import type { Service, ServiceHealth } from '@odograph/runtime/service';
import { startBroker } from './broker.ts';
import { openEngines } from './engines.ts';

/** Accepts uploads and acknowledgements of devices over MQTT into the queue, and sends commands to them. */
export const brokerService: Service<Http> = {
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    const broker = await startBroker(
      host,
      engines,
      adminTokensOf(host.adminToken).map((token) => deriveSecret(token, commandAccount)),
    );
    return {
      health(): ServiceHealth {
        if (!broker.isListening) return { ok: false, state: 'not listening' };
        if (engines.redis.status !== 'ready') return { ok: false, state: 'holding uploads: Redis is away' };
        if (engines.backlog.isFull) return { ok: false, state: 'holding uploads: the backlog exceeds its limit' };
        const [failure] = engines.failures.current;
        return failure === undefined ? { ok: true, state: 'listening' } : { ok: false, state: failure };
      },
    };
  },
};
