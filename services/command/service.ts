import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const commandService: Service<Http> = {
  name: 'command',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
