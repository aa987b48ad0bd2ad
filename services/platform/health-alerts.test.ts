import { startMailServer } from '@odograph/mail/mail-server.fixture';
import { readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { eventually } from '@odograph/testkit/eventually';
import { expect, it } from 'vitest';
import { watchHealth } from './health-alerts.ts';

it('sends one e-mail for a persistent failure, even if the mail server was unavailable, and another one after a recovery', async () => {
  let server = await startMailServer();
  const { url, port } = server;
  await server.close();
  const logger = createLogger('silent');
  const hooks = new ShutdownHooks(logger);
  const config = readConfig({ SMTP_URL: url, MAIL_FROM: 'fleet@odograph.example', ALERT_EMAIL: 'ops@example.com' });
  let checks = 0;
  let state = { ok: false, state: 'the backlog grows' };
  const health = () => {
    checks += 1;
    return state;
  };
  const services = new Map([
    ['ingest', { health }],
    ['query', { health: () => ({ ok: true, state: 'running' }) }],
  ]);
  const onStop = hooks.add.bind(hooks);
  watchHealth({ config, logger, onStop }, services, { checkMs: 10, failsAfterMs: 100, pauseMs: 0 });
  const moreChecks = async (count: number) => {
    const target = checks + count;
    await eventually(async () => expect(checks).toBeGreaterThan(target));
  };
  await moreChecks(20);
  server = await startMailServer(port);
  await eventually(async () => expect(server.received).toHaveLength(1));
  await moreChecks(20);
  expect(server.received).toHaveLength(1);
  const [mail] = server.received;
  expect(mail?.recipients).toEqual(['ops@example.com']);
  expect(mail?.source).toContain('Subject: Odograph: ingest fails');
  expect(mail?.source).toContain('ingest: the backlog grows');
  state = { ok: true, state: 'running' };
  await moreChecks(2);
  state = { ok: false, state: 'again' };
  await eventually(async () => expect(server.received).toHaveLength(2));
  await hooks.run();
  await server.close();
});
