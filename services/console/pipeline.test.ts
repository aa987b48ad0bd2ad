import { sampleIntervalSeconds } from '@odograph/database/pipeline-samples';
import { usePlatform } from '@odograph/testkit/scopes';
import { describe, expect, it } from 'vitest';
import { consoleService } from './service.ts';

/** Samples of a time that no process of another test measures. */
const startMs = Date.UTC(2031, 0, 1);
const at = (seconds: number) => new Date(startMs + seconds * 1000);

const platform = await usePlatform([consoleService]);
const sample = { seconds: sampleIntervalSeconds };
await platform.db
  .insertInto('pipeline_sample')
  .values([
    {
      ...sample,
      at: at(0),
      source: 'broker a',
      accepted_uploads: 100,
      connected_devices: 3,
      puback_p50_ms: 2,
      puback_p99_ms: 9,
    },
    {
      ...sample,
      at: at(10),
      source: 'broker a',
      accepted_uploads: 300,
      connected_devices: 5,
      puback_p50_ms: 4,
      puback_p99_ms: 7,
    },
    {
      ...sample,
      at: at(5),
      source: 'broker b',
      accepted_uploads: 100,
      connected_devices: 10,
      puback_p50_ms: 4,
      puback_p99_ms: 8,
    },
    { ...sample, at: at(5), source: 'ingest c', stored_readings: 50, waiting_jobs: 2, database_bytes: 3_000_000_000 },
    { ...sample, at: at(30), source: 'ingest c', stored_readings: 0, waiting_jobs: 0, database_bytes: 3_000_000_001 },
  ])
  .execute();

const admin = () => platform.admin;
const pathOf = (from: number, until: number, points: number) =>
  `/v1/x/admin/pipeline?from=${startMs / 1000 + from}&until=${startMs / 1000 + until}&points=${points}`;

describe('the history of the pipeline', () => {
  it('adds up what several processes measured in an interval, and takes the worst of their percentiles', async () => {
    const { status, body } = await admin().get(pathOf(0, 40, 2));
    expect(status).toBe(200);
    expect(body.stepSeconds).toBe(20);
    expect(body.points).toHaveLength(2);
    expect(body.points[0]).toMatchObject({
      at: '2031-01-01T00:00:00.000Z',
      acceptedUploadsPerSecond: 30,
      connectedDevices: 14,
      pubackP50Ms: (2 * 100 + 4 * 300 + 4 * 100) / 500,
      pubackP99Ms: 9,
      storedReadingsPerSecond: 5,
      waitingJobs: 2,
      databaseBytes: 3_000_000_000,
    });
    expect(body.points[1]).toMatchObject({
      at: '2031-01-01T00:00:20.000Z',
      acceptedUploadsPerSecond: null,
      storedReadingsPerSecond: 0,
      lagP99Ms: null,
    });
  });

  it('answers the whole 30 days with as many points as asked for', async () => {
    const { body } = await admin().get(pathOf(-15 * 86_400, 15 * 86_400, 100));
    expect(body.stepSeconds).toBe(25_920);
    expect(body.points.length).toBe(1);
  });

  it('refuses a period that ends before it begins, naming the parameter', async () => {
    const { status, body } = await admin().get(pathOf(40, 0, 2));
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'from']);
  });
});
