import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import type { ApiAnswer, ApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { importRecords } from '../registration.fixture.ts';
import { createRegistrationService } from '../service.ts';
import { createProviderSource } from './provider.ts';
import { readProviderSettings } from './provider-settings.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const key = 'the key of the provider';
let provider: Server;
let handler: Handler;
let requests: string[];
let platform: TestPlatform;
let admin: ApiClient;
let directory: string;
let nowMs: number;
let lookUp: (text: string) => Promise<ApiAnswer>;
let explain: (text: string) => Promise<ApiAnswer>;

const answerWith =
  (body: unknown, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

const mapping = {
  'certificate.brand': 'data.marque',
  'certificate.model': 'data.modele',
  vin: 'data.vin',
  'certificate.seats': 'data.places',
  'certificate.first_registration': 'data.date',
  'certificate.co2': 'data.mesures.0.co2',
  particulate_filter: 'data.fap',
};

const outcomeOf = async (plate: string): Promise<string> => (await explain(plate)).body.outcomes.provider;

async function startProvider(): Promise<string> {
  requests = [];
  provider = createServer((request, response) => {
    requests.push(request.url ?? '');
    handler(request, response);
  }).listen(0, '127.0.0.1');
  await once(provider, 'listening');
  return `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
}

const testLimits = {
  ...{ timeoutMs: 20_000, failures: 3, pauseMs: 60_000, callsPerMinute: 120 },
  ...{ cacheMs: 1_000_000, negativeCacheMs: 100_000 },
};

async function startPlatform(path: string, limits: Partial<typeof testLimits> = {}): Promise<void> {
  const file = join(directory, 'provider.json');
  await writeFile(file, JSON.stringify({ url: (await startProvider()) + path, fields: mapping }));
  platform = await startTestPlatform([createRegistrationService(() => nowMs, { ...testLimits, ...limits })], {
    REGISTRATION_PROVIDER_KEY: key,
    REGISTRATION_PROVIDER: file,
  });
  const client = platform.as((await createApplication(platform.db)).token);
  admin = platform.admin;
  lookUp = (text) => client.get(`/v1/siv/fr/${text}`);
  explain = (text) => admin.get(`/v1/x/admin/registrations/${text}`);
}

beforeEach(async () => {
  nowMs = Date.UTC(2026, 5, 1);
  directory = createTestDirectory();
});
afterEach(async () => {
  await platform?.stop();
  provider.closeAllConnections();
  provider.close();
});

const renault = {
  data: { marque: 'RENAULT', modele: 'ZOE', places: '5', date: '15/03/2021', mesures: [{ co2: 12 }], fap: 'non' },
};

describe('an available provider', () => {
  it('receives plate and key but not the access token, and fills the mapped fields', async () => {
    await startPlatform('/v2/vehicles/{plate}?country=FR');
    let headers: IncomingMessage['headers'] = {};
    handler = (request, response) => {
      headers = request.headers;
      answerWith(renault)(request, response);
    };
    const { status, body, headers: answerHeaders } = await lookUp('pa-001-pa');
    expect(status).toBe(200);
    expect(body.certificate).toMatchObject({ brand: 'RENAULT', model: 'ZOE', seats: 5, co2: 12, plate: '' });
    expect(body.certificate.first_registration).toBe('2021-03-15');
    expect(answerHeaders.get('x-registration-sources')).toBe('provider');
    expect(requests).toEqual(['/v2/vehicles/PA001PA?country=FR']);
    expect(headers['x-api-key']).toBe(key);
    expect(headers['x-service-token']).toBeUndefined();
  });

  it('ranks between imported records and the VIN, field by field', async () => {
    await startPlatform('/{plate}');
    const vin = 'VF1TESTA0A6900001';
    await importRecords(admin, [{ plate: 'PA-002-PA', model: 'IMPORTED', seats: 4 }]);
    handler = answerWith({ data: { ...renault.data, marque: undefined, vin } });
    const { body } = await explain('PA-002-PA');
    expect(body.record.certificate).toMatchObject({ model: 'IMPORTED', seats: 4, co2: 12, vin, brand: 'Renault' });
    expect(body.sources).toEqual({
      'certificate.plate': 'imported',
      'certificate.model': 'imported',
      'certificate.seats': 'imported',
      'certificate.vin': 'provider',
      'certificate.co2': 'provider',
      'certificate.first_registration': 'provider',
      'certificate.brand': 'vin',
    });
    expect((await lookUp('PA-002-PA')).headers.get('x-registration-sources')).toBe('imported, provider, vin');
  });

  it('receives the VIN of the imported record, and is left out when it answers for another vehicle', async () => {
    await startPlatform('/?p={plate}&v={vin}');
    const vin = 'VF1TESTA0A6900002';
    await importRecords(admin, [{ plate: 'PA-003-PA', vin }]);
    handler = answerWith({ data: { ...renault.data, vin: 'VF1TESTA0A6900003' } });
    const { body } = await explain('PA-003-PA');
    expect(requests).toEqual([`/?p=PA003PA&v=${vin}`]);
    expect(body.outcomes).toMatchObject({ imported: 'found', provider: 'other-vehicle' });
    expect(body.record.certificate.model).toBe('');
  });

  it('is not called for a VIN when its URL takes plates only', async () => {
    await startPlatform('/{plate}');
    handler = answerWith(renault);
    const { body } = await explain('VF1TESTA0A6900004');
    expect(body.outcomes).toEqual({ provider: 'not-asked', imported: 'unknown', vin: 'found' });
    expect(requests).toEqual([]);
  });

  it('has invalid values left out', async () => {
    await startPlatform('/{plate}');
    handler = answerWith({
      data: { marque: 'X'.repeat(1000), modele: { a: 1 }, places: 'many', vin: 'none', date: '2021', fap: 7 },
      __proto__: 1,
    });
    expect((await lookUp('PA-004-PA')).body.error).toBe('UNKNOWN_VEHICLE');
    handler = answerWith({ data: { marque: 'A\0B', modele: 'ZOE', places: -4, mesures: 'none' } });
    const { body } = await lookUp('PA-005-PA');
    expect(body.certificate).toMatchObject({ brand: '', model: 'ZOE', seats: 0, co2: 0 });
  });
});

describe('cached answers', () => {
  it('are used until they expire', async () => {
    await startPlatform('/{plate}');
    handler = answerWith(renault);
    for (const elapsed of [0, 1, 999_998]) {
      nowMs += elapsed;
      expect((await lookUp('PB-001-PA')).body.certificate.model).toBe('ZOE');
    }
    expect(requests).toHaveLength(1);
    nowMs += 2;
    handler = answerWith({ data: { modele: 'TWINGO' } });
    expect((await lookUp('PB-001-PA')).body.certificate.model).toBe('TWINGO');
    expect(requests).toHaveLength(2);
  });

  it('expire earlier when the provider did not know the vehicle', async () => {
    await startPlatform('/{plate}');
    handler = answerWith({ error: 'not found' }, 404);
    for (const elapsed of [0, 99_999]) {
      nowMs += elapsed;
      const { status, body } = await lookUp('PB-002-PA');
      expect([status, body.error, body.reason]).toEqual([404, 'UNKNOWN_VEHICLE', undefined]);
    }
    expect(requests).toHaveLength(1);
    nowMs += 1;
    handler = answerWith(renault);
    expect((await lookUp('PB-002-PA')).status).toBe(200);
  });

  it('are used after they expired when the provider fails', async () => {
    await startPlatform('/{plate}');
    handler = answerWith(renault);
    await lookUp('PB-003-PA');
    nowMs += 1_000_001;
    handler = answerWith('no', 500);
    expect((await lookUp('PB-003-PA')).body.certificate.model).toBe('ZOE');
    expect((await explain('PB-003-PA')).body.outcomes.provider).toBe('kept, status-500');
  });

  it('are deleted with the records of the vehicle', async () => {
    await startPlatform('/{plate}');
    handler = answerWith(renault);
    await lookUp('PB-004-PA');
    expect((await admin.delete('/v1/x/admin/registrations/PB-004-PA')).status).toBe(200);
    await lookUp('PB-004-PA');
    expect(requests).toHaveLength(2);
  });

  it('are fetched once for concurrent lookups', async () => {
    await startPlatform('/{plate}');
    handler = answerWith(renault);
    const settings = readProviderSettings(platform.config, testLimits);
    if (settings === undefined) throw new Error('the platform has no provider');
    const [logger, metrics] = [createLogger('silent'), new Registry()];
    const source = createProviderSource(settings, { db: platform.db, logger, metrics, now: () => nowMs });
    const both = [source.find({ plate: 'PB005PA' }, undefined), source.find({ plate: 'PB005PA' }, undefined)];
    expect((await Promise.all(both)).map(({ outcome }) => outcome)).toEqual(['found', 'found']);
    expect(requests).toHaveLength(1);
    expect((await source.find({ plate: 'PB005PA' }, undefined)).outcome).toBe('kept');
  });
});

describe('a failing provider', () => {
  const failing: [string, Handler, string][] = [
    ['status 500', answerWith('{}', 500), 'status-500'],
    ['status 401', answerWith('{}', 401), 'status-401'],
    ['malformed JSON', answerWith('{"data":'), 'malformed'],
    ['an answer that never ends', (_request, response) => response.write('{'), 'timeout'],
    ['no answer', () => undefined, 'timeout'],
    ['a closed connection', (request) => request.socket.destroy(), 'unreachable'],
    [
      'a redirect',
      (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      'redirect',
    ],
    [
      'a huge answer',
      (_request, response) => {
        const chunk = Buffer.alloc(256 * 1024, 32);
        const push = () => {
          while (!response.destroyed && response.write(chunk));
        };
        response.on('drain', push);
        push();
      },
      'too-large',
    ],
  ];

  it.each(failing)('leaves the answer to the other sources: %s', async (_name, handle, outcome) => {
    await startPlatform('/{plate}', outcome === 'timeout' ? { timeoutMs: 300 } : {});
    await importRecords(admin, [{ plate: 'PC-001-PA', model: 'IMPORTED' }]);
    handler = handle;
    expect(await lookUp('PC-001-PA')).toMatchObject({ status: 200, body: { certificate: { model: 'IMPORTED' } } });
    expect(await outcomeOf('PC-001-PA')).toBe(outcome);
    const unknown = await lookUp('PC-002-PA');
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({ error: 'UNKNOWN_VEHICLE', reason: 'PROVIDER_UNAVAILABLE' });
    expect(JSON.stringify(unknown.body)).not.toContain(key);
  });

  it('leaves the answer to the other sources: connection refused', async () => {
    await startPlatform('/{plate}');
    provider.close();
    await importRecords(admin, [{ plate: 'PC-003-PA', model: 'IMPORTED' }]);
    expect((await lookUp('PC-003-PA')).body.certificate.model).toBe('IMPORTED');
    expect(await outcomeOf('PC-003-PA')).toBe('unreachable');
  });

  it('is not called while the circuit is open, then tried once, then called again', async () => {
    await startPlatform('/{plate}');
    handler = answerWith('no', 503);
    for (let call = 0; call < 3; call += 1) expect(await outcomeOf('PD-001-PA')).toBe('status-503');
    for (let call = 0; call < 3; call += 1) expect(await outcomeOf('PD-001-PA')).toBe('circuit-open');
    expect(requests).toHaveLength(3);
    nowMs += 59_999;
    expect(await outcomeOf('PD-001-PA')).toBe('circuit-open');
    nowMs += 1;
    const both = await Promise.all(['PD-001-PA', 'PD-004-PA'].map(outcomeOf));
    expect(both.toSorted()).toEqual(['circuit-open', 'status-503']);
    expect(await outcomeOf('PD-001-PA')).toBe('circuit-open');
    expect(requests).toHaveLength(4);
    nowMs += 60_000;
    handler = answerWith(renault);
    expect(await outcomeOf('PD-001-PA')).toBe('found');
    expect(await outcomeOf('PD-002-PA')).toBe('found');
    handler = answerWith('no', 503);
    expect(await outcomeOf('PD-003-PA')).toBe('status-503');
    expect(await outcomeOf('PD-003-PA')).toBe('status-503');
  });

  it('is called at most so many times a minute as its limit', async () => {
    await startPlatform('/{plate}', { callsPerMinute: 2 });
    handler = answerWith(renault);
    expect([await outcomeOf('PE-001-PA'), await outcomeOf('PE-002-PA')]).toEqual(['found', 'found']);
    expect([await outcomeOf('PE-003-PA'), await outcomeOf('PE-001-PA')]).toEqual(['calls-used-up', 'kept']);
    nowMs += 60_000;
    expect(await outcomeOf('PE-003-PA')).toBe('found');
  });
});
