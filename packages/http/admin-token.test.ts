import { Failure } from '@odograph/contracts/failures';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { requireAdmin } from './authentication.ts';

it('accepts both admin tokens during a rotation, and no other', async () => {
  const [newest, older] = ['the-newest-admin-token', 'the-older-admin-token'];
  const app = Fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(error instanceof Failure ? error.status : 500).send());
  app.addHook('onRequest', requireAdmin(`${newest},${older}`));
  app.get('/', async () => 'ok');
  const statusOf = async (token: string) =>
    (await app.inject({ url: '/', headers: { authorization: `Bearer ${token}` } })).statusCode;
  expect(await Promise.all([newest, older, `${newest},${older}`, 'another-admin-token', ''].map(statusOf))).toEqual([
    200, 200, 401, 401, 401,
  ]);
  await app.close();
});
