import { createApiClient } from '@odograph/testkit/api-client';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryService } from './service.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([queryService]);
});
afterAll(() => platform.stop());

interface Operation {
  summary?: string;
  security?: unknown;
  responses: Record<string, { description?: string; content?: unknown }>;
  parameters?: { name: string }[];
}

async function readOperations(): Promise<Map<string, Operation>> {
  const { body } = await createApiClient(platform.httpUrl).get('/docs/json');
  const paths = Object.entries(body.paths as Record<string, { get?: Operation }>);
  return new Map(paths.flatMap(([path, { get }]) => (get && path.startsWith('/v1/') ? [[path, get] as const] : [])));
}

describe('OpenAPI', () => {
  it('has a summary, the required token and the failures of every route', async () => {
    const operations = await readOperations();
    expect([...operations.keys()]).toEqual(
      expect.arrayContaining([
        '/v1/vehicle/status',
        '/v1/vehicle/{id}/status',
        '/v1/vehicle/position',
        '/v1/x/changes',
      ]),
    );
    for (const [path, { summary, security, responses }] of operations) {
      expect([path, summary]).toEqual([path, expect.stringMatching(/\w{4}/)]);
      expect([path, security]).toEqual([path, [{ serviceToken: [] }]]);
      expect([path, Object.keys(responses)]).toEqual([
        path,
        expect.arrayContaining(['200', '400', '401', '429', '500']),
      ]);
    }
  });

  it('has the failures and parameters of fleet status, position and the change feed', async () => {
    const operations = await readOperations();
    const failures = (path: string, status: string) => operations.get(path)?.responses[status]?.description;
    const parameters = (path: string) => operations.get(path)?.parameters?.map(({ name }) => name);
    expect(failures('/v1/vehicle/status', '504')).toBe('COMMUNICATION_FAILED');
    expect(failures('/v1/vehicle/{id}/status', '504')).toBe('COMMUNICATION_FAILED');
    expect(failures('/v1/vehicle/{id}/status', '404')).toBe('UNKNOWN_VEHICLE, NO_DATA');
    expect(failures('/v1/vehicle/position', '404')).toBe('UNKNOWN_VEHICLE, POSITION_UNKNOWN');
    expect(parameters('/v1/vehicle/status')).toEqual(['vehicleId', 'plate']);
    expect(parameters('/v1/vehicle/{id}/status')).toEqual(['view', 'id']);
    expect(parameters('/v1/x/changes')).toEqual(['after', 'limit']);
  });
});
