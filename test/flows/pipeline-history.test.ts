import { brokerService } from '@odograph/broker/service';
import { consoleService } from '@odograph/console/service';
import { ingestService } from '@odograph/ingest/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';

it('the history of the pipeline shows the uploads, connections and latencies of the last seconds', async () => {
  const platform = await startTestPlatform([ingestService, brokerService, consoleService]);
  try {
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    for (let second = 0; second < 5; second += 1) await device.upload({ timestamp: Date.now() / 1000 - second });
    const { admin } = platform;
    await eventually(async () => {
      const { status, body } = await admin.get('/v1/x/admin/pipeline');
      expect([status, body.error]).toEqual([200, undefined]);
      const measured = (name: string) => body.points.some((point: Record<string, number>) => (point[name] ?? 0) > 0);
      for (const name of ['acceptedUploadsPerSecond', 'pubackP99Ms', 'connectedDevices', 'lagP99Ms', 'databaseBytes']) {
        expect([name, measured(name)]).toEqual([name, true]);
      }
    }, 30_000);
    await device.close();
  } finally {
    await platform.stop();
  }
});
