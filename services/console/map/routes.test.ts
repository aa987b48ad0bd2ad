import { existsSync } from 'node:fs';
import { readdir, rename, rm, statfs, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseRange } from '@odograph/http/file-answer';
import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { createPmtiles } from '@odograph/testkit/pmtiles';
import { useDirectory, usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { beforeEach, describe, expect, it } from 'vitest';
import { consoleService } from '../service.ts';
import { requireSpace } from './routes.ts';

const whole = createPmtiles();
const headers = { authorization: `Bearer ${testAdminToken}` };

const directory = useDirectory();
const file = join(directory, 'area.pmtiles');
const platform = await usePlatform([consoleService], { MAP_TILES: file });
beforeEach(() => replace(whole));

/** Replaces the file as `mv` does. */
async function replace(content: Buffer): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}
const settings = async () => (await createApiClient(platform.httpUrl, headers).get('/v1/x/map')).body;
const consoleState = async () =>
  (await platform.anonymous.get('/health')).body.services.console as { ok: boolean; state: string };
const read = (more: Record<string, string> = {}, method = 'GET') =>
  fetch(`${platform.httpUrl}/v1/x/map/tiles`, { method, headers: { ...headers, ...more } });

describe('the file of MAP_TILES', () => {
  it('is only for people and programs that are signed in', async () => {
    const { token } = await createApplication(platform.db);
    for (const path of ['/v1/x/map', '/v1/x/map/tiles']) {
      expect((await platform.anonymous.get(path)).status).toBe(401);
      expect((await platform.as(token).get(path)).status).toBe(200);
    }
  });

  it('is answered in the parts that a map asks for', async () => {
    const part = await read({ range: 'bytes=10-19' });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${whole.length}`]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(whole.subarray(10, 20));
    const end = await read({ range: 'bytes=-5' });
    expect(Buffer.from(await end.arrayBuffer())).toEqual(whole.subarray(-5));
    const all = await read();
    expect([all.status, all.headers.get('accept-ranges')]).toEqual([200, 'bytes']);
    expect(Buffer.from(await all.arrayBuffer())).toEqual(whole);
  });

  it('answers 416 with its size for bytes that it does not have', async () => {
    const { status, headers: answered } = await read({ range: `bytes=${whole.length}-` });
    expect([status, answered.get('content-range')]).toEqual([416, `bytes */${whole.length}`]);
  });

  it('answers HEAD with its size and entity tag, and no content', async () => {
    const answer = await read({}, 'HEAD');
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(whole.length)]);
    expect(await answer.text()).toBe('');
    expect(answer.headers.get('etag')).toMatch(/^"[0-9a-z-]+"$/);
  });

  it('has another entity tag once it is replaced, so that no map mixes parts of two files', async () => {
    const etag = (await read({}, 'HEAD')).headers.get('etag') ?? '';
    expect((await read({ 'if-none-match': etag })).status).toBe(304);
    expect((await read({ 'if-range': etag, range: 'bytes=0-9' })).status).toBe(206);
    await replace(createPmtiles({ attribution: 'another' }));
    expect((await read({ 'if-none-match': etag })).status).toBe(200);
    expect((await read({ 'if-range': etag, range: 'bytes=0-9' })).status).toBe(200);
  });

  it('is what the map is drawn from while it can be read, with its attribution', async () => {
    const file = { url: '/v1/x/map/tiles', attribution: 'Survey of Testland' };
    expect(await settings()).toMatchObject({ ...file, kind: 'vector-file', setting: 'MAP_TILES' });
    await replace(createPmtiles({ tileType: 2, tile: Buffer.from('PNG') }));
    expect(await settings()).toMatchObject({ ...file, kind: 'raster-file', file: { bbox: '-180,-85,180,85' } });
    expect(await consoleState()).toEqual({ ok: true, state: 'running' });
  });

  it.each([
    ['does not exist', () => rm(file)],
    ['is not a PMTiles file', () => replace(Buffer.from('<html>404</html>'))],
    ['is truncated', () => truncate(file, whole.length - 1)],
    ['has version 2 of PMTiles, not 3', () => replace(Buffer.concat([Buffer.from('PMTiles\x02'), whole.subarray(8)]))],
    ['is compressed by a method that browsers cannot read', () => replace(createPmtiles({ tileCompression: 3 }))],
    ['has tiles of an unknown type', () => replace(createPmtiles({ tileType: 9 }))],
    ['has no layer "earth"', () => replace(createPmtiles({ layers: ['transportation'] }))],
    ['is damaged', () => replace(Buffer.concat([whole.subarray(0, 130), Buffer.alloc(whole.length - 130, 7)]))],
  ])('leaves the platform healthy and the map with outlines of countries when it %s', async (fault, damage) => {
    await damage();
    expect(await settings()).toEqual({
      kind: 'world',
      attribution: '',
      setting: 'MAP_TILES',
      fault: expect.stringContaining(fault),
    });
    const state = expect.stringContaining(`running; the file of the map ${fault}`);
    expect(await consoleState()).toEqual({ ok: true, state });
    await replace(whole);
    expect(await consoleState()).toEqual({ ok: true, state: 'running' });
  });

  it('answers NOT_FOUND while it is missing', async () => {
    await rm(file);
    const { status, body } = await createApiClient(platform.httpUrl, headers).get('/v1/x/map/tiles');
    expect([status, body.error]).toEqual([404, 'NOT_FOUND']);
  });
});

describe('an uploaded map', () => {
  it('replaces DATA_DIR/map.pmtiles once whole and usable, and only by an administrator without limits', async () => {
    const own = await startTestPlatform([consoleService]);
    const send = async (query: string, bytes: Buffer, authorization = headers.authorization) => {
      const answer = await fetch(`${own.httpUrl}/v1/x/admin/map?${query}`, {
        method: 'PUT',
        headers: { authorization, 'content-type': 'application/octet-stream' },
        body: new Uint8Array(bytes),
      });
      return [answer.status, await answer.json()];
    };
    const read = async () => (await createApiClient(own.httpUrl, headers).get('/v1/x/map')).body;
    expect(await read()).toEqual({ kind: 'world', attribution: '' });
    const part = (upload: string, offset: number) => `upload=${upload}&offset=${offset}&size=${whole.length}`;
    const [one, other] = ['0'.repeat(16), '1'.repeat(16)];
    expect(await send(part(one, 0), whole.subarray(0, 100))).toEqual([200, { isUsed: false }]);
    expect(await read()).toMatchObject({ kind: 'world' });
    expect(await send(part(one, 100), whole.subarray(100))).toEqual([200, { isUsed: true }]);
    expect(await read()).toMatchObject({ kind: 'vector-file', file: { bytes: whole.length, maxZoom: 0 } });
    const wrong = Buffer.alloc(whole.length, 7);
    expect(await send(part(one, 0), wrong)).toMatchObject([400, { field: 'file' }]);
    await send(part(one, 0), whole.subarray(0, 100));
    await send(part(other, 0), whole.subarray(0, 100));
    expect((await send(part(one, 100), whole.subarray(100)))[0]).toBe(412);
    expect(await send(part(one, 0), whole, 'Bearer wrong')).toMatchObject([401, {}]);
    expect(await read()).toMatchObject({ kind: 'vector-file' });
    expect(await readdir(own.config.DATA_DIR)).toContain('map.pmtiles');
    await own.stop();
  });

  it('is removed at the next start if it received no part for an hour', async () => {
    const [abandoned, fresh, other] = ['upload-0123456789abcdef', 'upload-fedcba9876543210', 'backup'].map((end) =>
      join(directory, `area.pmtiles.${end}`),
    ) as [string, string, string];
    for (const path of [abandoned, fresh, other]) await writeFile(path, 'part');
    for (const path of [abandoned, other]) await utimes(path, new Date(), new Date(Date.now() - 3_601_000));
    const next = await startTestPlatform([consoleService], { MAP_TILES: file });
    await next.stop();
    expect([abandoned, fresh, other].map((path) => existsSync(path))).toEqual([false, true, true]);
  });

  it('is refused if it would leave the disk less than 1 GiB', async () => {
    const { bavail, bsize } = await statfs(directory);
    await expect(requireSpace(directory, 1)).resolves.toBeUndefined();
    await expect(requireSpace(directory, bavail * bsize - 1024 ** 3 / 2)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });
});

it('reads one range of bytes, and takes several or malformed ones as a request for the whole file', () => {
  expect(parseRange('bytes=0-', 10)).toEqual({ start: 0, end: 9 });
  expect(parseRange('bytes=2-100', 10)).toEqual({ start: 2, end: 9 });
  expect(parseRange('bytes=-100', 10)).toEqual({ start: 0, end: 9 });
  for (const header of [undefined, '', 'bytes=-', 'bytes=0-1,4-5', 'bytes=5-2', 'lines=1-2']) {
    expect([header, parseRange(header, 10)]).toEqual([header, undefined]);
  }
  for (const header of ['bytes=10-', 'bytes=-0']) expect(() => parseRange(header, 10)).toThrow(RangeError);
});
