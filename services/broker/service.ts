import { commandAccount } from '@odograph/contracts/service-accounts';
import type { Http } from '@odograph/http/http';
import { deriveSecret } from '@odograph/runtime/secrets';
import type { Service, ServiceHealth } from '@odograph/runtime/service';
import { startBroker } from './broker.ts';
import { openEngines } from './engines.ts';

/** Takes uploads and acknowledgements from devices over MQTT into the queue, and commands to them. */
export const brokerService: Service<Http> = {
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    const broker = await startBroker(host, engines, deriveSecret(host.adminToken, commandAccount));
    return {
      health(): ServiceHealth {
        if (!broker.listening) return { ok: false, state: 'not listening' };
        if (engines.redis.status !== 'ready') return { ok: false, state: 'holding uploads: Redis is away' };
        if (engines.backlog.full) return { ok: false, state: 'holding uploads: the backlog is over its bound' };
        return { ok: true, state: 'listening' };
      },
    };
  },
};
