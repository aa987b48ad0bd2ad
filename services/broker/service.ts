import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const brokerService: Service<Http> = {
  name: 'broker',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
