import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyTemplate } from '@odograph/testkit/global-setup';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryMessage, syncMessage } from './frontend-messages.ts';
import { type EmbeddedTimescale, startEmbeddedTimescale } from './timescaledb.ts';
import { bind, connectWire, execute, parse } from './wire-client.fixture.ts';
import { wireMessage } from './wire-framing.ts';

let dataDirectory: string;
let database: EmbeddedTimescale;
let pool: pg.Pool;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'embedded-copy-'));
  await copyTemplate('empty', dataDirectory);
  database = await startEmbeddedTimescale({ dataDirectory });
  pool = new pg.Pool({ connectionString: database.url });
});

afterAll(async () => {
  await pool?.end();
  await database?.stop();
  await rm(dataDirectory, { recursive: true, force: true });
});

const types = (messages: readonly { type: string }[]): string => messages.map(({ type }) => type).join('');

describe('a byte stream', () => {
  it('has the same effect however it is split', async () => {
    const stream = Buffer.concat([
      ...[parse('cut', `select '${'x'.repeat(100_000)}'`), bind('', 'cut'), execute(''), syncMessage()],
      ...[queryMessage('begin'), queryMessage('select 1/0'), queryMessage('rollback')],
      ...[wireMessage('C', Buffer.from('Scut\0')), syncMessage()],
    ]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(stream.length), { maxLength: 12 }), async (offsets) => {
        const client = await connectWire(database.url);
        let start = 0;
        for (const end of [...offsets.sort((a, b) => a - b), stream.length]) {
          client.send(stream.subarray(start, end));
          await new Promise((resolve) => setImmediate(resolve));
          start = end;
        }
        const answers = [];
        for (let count = 0; count < 5; count++) answers.push(types(await client.receive()));
        expect(answers).toEqual(['12DCZ', 'CZ', 'EZ', 'CZ', '3Z']);
        client.socket.destroy();
      }),
      { numRuns: 25 },
    );
  });
});

describe('COPY', () => {
  const data = (text: string): Buffer => wireMessage('d', Buffer.from(text));
  const done = (): Buffer => wireMessage('c');

  it('reads rows from many messages and writes them back', async () => {
    await pool.query('create table copied (x int, y text)');
    const client = await connectWire(database.url);
    client.send(queryMessage('copy copied from stdin'));
    expect(types(await client.receive('G'))).toBe('G');
    for (let row = 0; row < 20_000; row++) client.send(data(`${row}\t${'y'.repeat(20)}\n`));
    client.send(done());
    expect(types(await client.receive())).toBe('CZ');
    client.send(queryMessage('copy (select count(*), sum(x) from copied) to stdout'));
    const answer = await client.receive();
    expect(types(answer)).toBe('HdcCZ');
    expect(answer[1]?.body).toBe('20000\t199990000\n');
    client.socket.destroy();
  });

  it('answers an unknown table, malformed data and a cancelled copy with one error each', async () => {
    const client = await connectWire(database.url);
    for (const [sql, ...messages] of [
      ['copy missing_table from stdin', data('1\n'), done()],
      ['copy copied from stdin', data('no number\ty\n'), done()],
      ['copy copied from stdin', data('1\ty\n'), wireMessage('f', Buffer.from('changed my mind\0'))],
    ] as const) {
      client.send(queryMessage(sql), ...messages);
      expect(types(await client.receive())).toBe('GEZ');
    }
    client.send(queryMessage('select 1'));
    expect(types(await client.receive())).toBe('TDCZ');
    client.socket.destroy();
  });

  it('is rejected with an error where the engine cannot wait for data', async () => {
    await expect(pool.query('select 1; copy copied from stdin')).rejects.toThrow(/simple query of its own/);
    const client = await connectWire(database.url);
    client.send(parse('', 'copy copied from stdin'), bind('', ''), execute(''), syncMessage());
    expect(types(await client.receive())).toBe('12GEZ');
    client.socket.destroy();
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }]);
  });
});
