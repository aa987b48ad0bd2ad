import { once } from 'node:events';
import { connect } from 'node:net';
import { Failure } from '@odograph/contracts/failures';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { readConfig } from '@odograph/runtime/config';
import { limits as defaultLimits, type Limits } from '@odograph/runtime/limits';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApiClient } from '@odograph/testkit/api-client';
import { useDatabase } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import Type from 'typebox';
import { afterEach } from 'vitest';
import {
  type Accounts,
  operatorRoutes,
  type RoutePlugin,
  referencePage,
  tokenRoutes,
  viewerRoutes,
} from './authentication.ts';
import { createHttp } from './create-http.ts';
import { addOperationRoutes } from './operations.ts';
import { sendPage } from './paging.ts';
import { answers, Flag, isTrue } from './schemas.ts';

/** As during a rotation. */
const adminToken = 'admin-token-of-the-tests,the-older-admin-token';
export const asAdmin = { authorization: 'Bearer admin-token-of-the-tests' };
/** Functions to call after each test, in reverse order. */
export const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

const database = useDatabase(1);

/** Routes as services have them: parameters, pages, failures, defects. */
const echoRoutes: RoutePlugin = (http) => {
  const Parameters = Type.Object({ count: Type.Integer({ minimum: 0 }), flag: Type.Optional(Flag) });
  const Echo = Type.Object({ count: Type.Integer(), flag: Type.Boolean(), ip: Type.String() });
  for (const path of ['/v1/echo', '/v1/echo/:count']) {
    http.post(path, { schema: { body: Parameters, response: answers(Echo) } }, async ({ body, ip }) => ({
      ...{ count: body.count, flag: isTrue(body.flag ?? false), ip },
    }));
  }
  http.post('/v1/echo/fixed', async () => ({}));
  http.get('/v1/echo/:count', async () => ({}));
  http.get('/v1/page', async (_request, reply) =>
    sendPage(reply, '[1]', { path: '/v1/page', parameters: { after: 'a&b', limit: undefined } }),
  );
  http.get('/v1/last', async (_request, reply) => sendPage(reply, '[]', undefined));
  http.get('/v1/long', async ({ raw }) => {
    await once(raw.socket, 'close');
    throw new Error('canceling statement due to user request');
  });
  http.get('/v1/defect', async () => {
    throw new TypeError('a secret detail');
  });
  const withoutServer = openDatabase({ url: 'postgres://postgres@127.0.0.1:1/none', name: 'test', size: 1 });
  http.route({ method: ['GET', 'POST'], url: '/v1/without-database', handler: () => pingDatabase(withoutServer) });
  http.post('/v1/texts/:name', async ({ params, query, body }) => {
    const { text = '' } = query as { text?: string };
    const { name } = params as { name: string };
    await sql`select ${name}::text, ${text}::text, ${JSON.stringify(body)}::jsonb`.execute(database);
    return {};
  });
  http.get('/v1/own-text', async () => sql`select ${'\0'}::text`.execute(database));
  http.get('/v1/refused', async () => {
    throw new Failure('ALREADY_EXISTS', 'taken', { field: 'plate', reason: 'PLATE', retryAfterSeconds: 7 });
  });
};

/** Starts an HTTP server with the routes above; it closes after the test. */
export async function startHttp(settings: Record<string, string> = {}, limits: Partial<Limits> = {}) {
  const lookups: Buffer[] = [];
  const lines: { level: number; msg: string; requestId?: string }[] = [];
  const logger = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  const config = readConfig(settings);
  const http = await createHttp(config, logger, { ...defaultLimits, ...limits });
  closes.push(() => http.close());
  addOperationRoutes(http, { services: () => new Map(), metrics: new Registry(), adminToken, config });
  const accounts: Accounts = {
    async findCaller(hash) {
      lookups.push(hash);
      if (!hash.equals(hashSecret('right'))) throw new Failure('INVALID_TOKEN');
      return { applicationId: 1 };
    },
    async findApiKey() {
      throw new Failure('INVALID_TOKEN');
    },
    async findSignedIn() {
      throw new Failure('INVALID_TOKEN');
    },
    async findApplicationId() {
      throw new Failure('UNKNOWN_APPLICATION');
    },
  };
  await referencePage(http, { accounts, adminToken });
  await tokenRoutes(http, accounts, [echoRoutes]);
  await viewerRoutes(http, { accounts, adminToken }, [
    (scope) => void scope.get('/v1/x/view', async ({ viewer }) => viewer),
  ]);
  await operatorRoutes(http, { accounts, adminToken }, [
    (scope) => void scope.get('/v1/x/admin/applications', async () => ({})),
  ]);
  const url = await http.listen({ host: '127.0.0.1', port: 0 });
  const client = createApiClient(url, { 'x-service-token': 'right' });
  return { url, client, lookups, lines };
}

/** Opens a connection and writes bytes. `answer` resolves with everything received when the connection is closed. */
export function openSocket(url: string, bytes = '') {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => void chunks.push(chunk));
  if (bytes !== '') socket.write(bytes);
  closes.push(() => socket.destroy());
  const answer = once(socket, 'close').then(() => Buffer.concat(chunks).toString());
  return { socket, answer };
}
