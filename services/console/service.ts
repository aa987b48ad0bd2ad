import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const consoleService: Service<Http> = {
  name: 'console',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
