import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const fleetService: Service<Http> = {
  name: 'fleet',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
