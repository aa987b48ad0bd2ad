import { readConfig } from '@odograph/runtime/config';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startMailServer, type TestMailServer } from './mail-server.fixture.ts';
import { type Mailer, openMailer } from './mailer.ts';

let server: TestMailServer;
let mailer: Mailer | undefined;

beforeEach(async () => {
  server = await startMailServer();
  mailer = openMailer(readConfig({ SMTP_URL: server.url, MAIL_FROM: 'Odograph <fleet@odograph.example>' }));
});
afterEach(async () => {
  mailer?.close();
  await server.close();
});

const mail = { to: 'ann@example.com', subject: 'Bericht für März', text: 'Grüße', key: 'report-7' };
const headersOf = (source = '') => source.slice(0, source.indexOf('\r\n\r\n')).replaceAll(/\r\n[ \t]/g, ' ');

it('delivers attachments, and keeps the Message-ID across retries', async () => {
  const content = Buffer.from('a;b\r\n1;2\r\n');
  for (let n = 0; n < 2; n += 1) {
    await mailer?.send({ ...mail, attachments: [{ filename: 'März.csv', contentType: 'text/csv', content }] });
  }
  const [first, second] = server.received;
  expect(first?.recipients).toEqual(['ann@example.com']);
  expect(first?.source).toContain(content.toString('base64'));
  for (const one of [first, second]) {
    const headers = headersOf(one?.source);
    expect(headers).toMatch(/^Message-ID: <report-7@odograph\.example>$/m);
    expect(headers).toMatch(/^Auto-Submitted: auto-generated$/im);
  }
});

it('is safe from header, recipient and file injection', async () => {
  const smuggled = 'A\r\nBcc: eve@example.com\r\n\r\nbody';
  await mailer?.send({ ...mail, subject: smuggled, text: '/etc/passwd' });
  const [received] = server.received;
  expect(received?.recipients).toEqual(['ann@example.com']);
  expect(headersOf(received?.source)).not.toMatch(/^bcc/im);
  expect(received?.source).toContain('\r\n\r\n/etc/passwd');
  await expect(mailer?.send({ ...mail, to: 'ann@example.com, eve@example.com' })).rejects.toThrow();
  await expect(mailer?.send({ ...mail, to: 'ann@example.com>\r\nRCPT TO:<eve@example.com' })).rejects.toThrow();
  expect(server.received.flatMap(({ recipients }) => recipients)).not.toContain('eve@example.com');
});

it('reports the reply code or an unreachable server, without naming server or address', async () => {
  server.refused.add(mail.to);
  await expect(mailer?.send(mail)).rejects.toMatchObject({ status: 550, message: 'the mail server answered 550' });
  await server.close();
  const away = { status: undefined, message: 'the mail server cannot be reached' };
  await expect(mailer?.send(mail)).rejects.toMatchObject(away);
});

it('is disabled without SMTP_URL, and requires MAIL_FROM with it', () => {
  expect(openMailer(readConfig({}))).toBeUndefined();
  expect(() => readConfig({ SMTP_URL: server.url })).toThrow('MAIL_FROM: is required with SMTP_URL');
  expect(() => readConfig({ SMTP_URL: server.url, MAIL_FROM: 'a\r\nBcc: b@c.example' })).toThrow('MAIL_FROM: must be');
});
