import { brokerService } from '@odograph/broker/service';
import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import { gatewayService } from '@odograph/gateway/service';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createSource } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const platform = await usePlatform([brokerService, gatewayService]);

describe('any request to an endpoint', () => {
  const member = fc.constantFrom(
    ...['ident', 'timestamp', 'position', 'device', 'uniqueId', 'event', 'attributes', 'location', 'coords', 'Vin'],
    ...['vin', 'data', 'key', 'value', '_type', 'topic', 'createdAt', 'lat', 'lon', 'tst', '__proto__', 'constructor'],
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.constantFrom('location', 'a', 'owntracks/a/b', 1e308, -1),
      fc.dictionary(member, tie('tree')),
      fc.array(tie('tree')),
    ),
  }));
  const bodies = fc.oneof(
    tree.map((value) => Buffer.from(JSON.stringify(value) ?? '')),
    fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  );
  const types = fc.constantFrom(
    ...['application/json', 'application/x-protobuf', 'application/x-www-form-urlencoded', 'text/plain', ''],
  );

  it('is answered without an internal error, and leaves the gateway healthy and nothing held', async () => {
    const application = await createApplication(platform.db);
    const secrets = new Map<SourceFormatName, string>();
    for (const format of sourceFormatNames)
      secrets.set(format, (await createSource(platform.db, application, { format })).secret);
    const paths = fc.oneof(fc.constantFrom('a', 'a?lat=1&lon=2', 'a?lat[]=1&lat=%00&secret=x'), fc.webPath());
    const requests = fc.record({
      format: fc.constantFrom(...sourceFormatNames),
      body: bodies,
      type: types,
      path: paths,
    });
    await fc.assert(
      fc.asyncProperty(requests, async ({ format, body, type, path }) => {
        const url = format === 'osmand' ? `/in/osmand/${path.replace(/^\/*/, '')}` : `/in/${format}`;
        const headers = {
          authorization: `Bearer ${secrets.get(format)}`,
          ...(type !== '' && { 'content-type': type }),
        };
        const request = { method: 'POST', headers, body: new Uint8Array(body) };
        const { status } = await fetch(new URL(url, platform.httpUrl), request);
        expect([200, 400, 404, 413, 429, 503]).toContain(status);
      }),
      { numRuns: 400 },
    );
    expect((await fetch(new URL('/health', platform.httpUrl))).status).toBe(200);
    await eventually(async () => {
      const metrics = await platform.metrics.metrics();
      expect(metrics).toMatch(/^odograph_gateway_held_bytes 0$/m);
    });
  });
});
