import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const queryService: Service<Http> = {
  name: 'query',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
