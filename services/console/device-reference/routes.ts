import { readFileSync } from 'node:fs';
import { type Guard, viewerPages } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { pageStyle } from '@odograph/http/openapi';
import { servePages } from '@odograph/http/page-policy';
import { platformVersion } from '@odograph/runtime/platform-version';
import { type Broker, describeDevices } from './document.ts';
import { writePage } from './page.ts';

/**
 * Serves the AsyncAPI document of the device side at /docs/asyncapi.json, to anyone like that of the HTTP interface, and a
 * page for people at /docs/devices.
 */
export async function deviceReference(http: Http, guard: Guard, broker: Broker): Promise<void> {
  const document = JSON.stringify(describeDevices(broker, platformVersion()));
  http.get('/docs/asyncapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(document),
  );
  const page = writePage(pageStyle + readFileSync(new URL('page.css', import.meta.url), 'utf8'));
  await viewerPages(http, guard, [
    (scope) => {
      servePages(scope);
      scope.get('/docs/devices', async (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
    },
  ]);
}
