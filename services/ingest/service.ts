import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';

export const ingestService: Service<Http> = {
  name: 'ingest',
  async start() {
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};
