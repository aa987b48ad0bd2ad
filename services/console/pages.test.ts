import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { describe, expect, it } from 'vitest';
import { consoleService } from './service.ts';

const page = readFileSync(new URL('../../apps/console/dist/index.html', import.meta.url), 'utf8');
const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';

const platform = await usePlatform([consoleService]);

const get = (path: string, headers: Record<string, string> = {}) => fetch(platform.httpUrl + path, { headers });

describe('the console', () => {
  it('answers its page at the address of every screen, without a session and never from a cache', async () => {
    for (const path of ['/', '/sign-in', '/map', '/vehicles', '/vehicles/1234567890', '/profile']) {
      const response = await get(path);
      expect([path, response.status, await response.text()]).toEqual([path, 200, page]);
      expect(response.headers.get('cache-control')).toBe('no-cache');
    }
  });

  it('allows scripts, workers and data of this origin only, and nothing inline', async () => {
    const policy = (await get('/map')).headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/script-src|unsafe-eval|https?:/);
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/);
  });

  it('allows data and images of one more site with MAP_TILES_URL or MAP_STYLE_URL, and of no other', async () => {
    const policyWith = async (setting: Record<string, string>): Promise<string[]> => {
      const other = await startTestPlatform([consoleService], setting);
      const { headers } = await fetch(`${other.httpUrl}/map`);
      // A person who opens an unknown address goes on to the map from there.
      const unknown = await fetch(`${other.httpUrl}/nowhere`, { headers: { accept: 'text/html' } });
      await other.stop();
      const policy = headers.get('content-security-policy');
      expect([unknown.status, unknown.headers.get('content-security-policy')]).toEqual([404, policy]);
      return policy?.split('; ') ?? [];
    };
    const usual = (await get('/map')).headers.get('content-security-policy')?.split('; ') ?? [];
    for (const setting of [
      { MAP_TILES_URL: 'https://u:p@tiles.example:8443/a;b/{z}/{x}/{y}.png' },
      { MAP_STYLE_URL: 'https://tiles.example:8443/style.json' },
    ]) {
      const policy = await policyWith(setting);
      const added = policy.filter((directive) => !usual.includes(directive));
      const site = 'https://tiles.example:8443';
      expect(added).toEqual([`img-src 'self' data: blob: ${site}`, `connect-src 'self' ${site}`]);
      expect(usual.filter((directive) => !policy.includes(directive))).toEqual(["img-src 'self' data: blob:"]);
    }
  });

  it('answers files compressed, to be kept for a year', async () => {
    const plain = await get(script, { 'accept-encoding': 'identity' });
    const size = (await plain.arrayBuffer()).byteLength;
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    for (const encoding of ['br', 'gzip']) {
      const response = await get(script, { 'accept-encoding': encoding });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(response.headers.get('content-type')).toMatch(/javascript/);
      expect(Number(response.headers.get('content-length'))).toBeLessThan(size / 2);
    }
  });

  it('answers NOT_FOUND for a file of another version and for an address that no screen has', async () => {
    for (const path of [
      '/assets/index-00000000.js',
      '/assets/../index.html',
      '/assets/%2e%2e/package.json',
      '/nowhere',
    ]) {
      const response = await get(path);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ error: 'NOT_FOUND' });
    }
  });

  it('answers the clients of the interface to everyone, and 304 while they are unchanged', async () => {
    const wheel = (await fetch(`${platform.httpUrl}/client.whl`, { redirect: 'manual' })).headers.get('location') ?? '';
    expect(wheel).toMatch(/^\/odograph-[\d.]+-py3-none-any\.whl$/);
    for (const path of ['/client.tgz', wheel]) {
      const etag = (await get(path)).headers.get('etag') ?? '';
      // fetch would ask for an answer that no cache has.
      const request = httpGet(platform.httpUrl + path, { headers: { 'if-none-match': etag } });
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      answer.resume();
      expect(answer.statusCode).toBe(304);
    }
  });

  it('answers the licences of everything that it bundles', async () => {
    const response = await get('/licenses');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const text = await response.text();
    for (const name of ['Apache License', 'preact', 'maplibre-gl', 'uplot', 'world-atlas'])
      expect(text).toContain(name);
  });
});
