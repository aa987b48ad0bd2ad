import { sourceFormatNames } from '@odograph/contracts/sources';
import { fleetService } from '@odograph/fleet/service';
import { gatewayService } from '@odograph/gateway/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { SourceSender } from '@odograph/simulator/source-sender';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createImei, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { expect, it } from 'vitest';

const platform = await usePlatform([ingestService, gatewayService, queryService, fleetService]);
const application = await createApplication(platform.db);

const start = Math.floor(Date.now() / 1000) - 1000;
const readings = 30;

it.each(sourceFormatNames)(
  'puts what %s forwards into the history of the vehicle once, also when it is sent twice',
  async (format) => {
    const deviceId = createImei();
    const { id, secret: deviceSecret } = await createVehicle(platform.db, application, { deviceId, model: format });
    const { admin } = platform;
    const source = await admin.post('/v1/x/admin/sources', { appId: application.appId, format });
    expect(source.status).toBe(200);
    // The user name of OwnTracks is that of the device, with its own secret.
    const secret = format === 'owntracks' ? deviceSecret : source.body.secret;
    const sender = new SourceSender({ url: platform.httpUrl, format, deviceId, secret, messagesPerRequest: 7 });
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < readings; index += 1) {
        sender.record({
          timestamp: start + index,
          location: { latitude: 48.85 + index / 1e4, longitude: 2.35 },
          status: { mileage: 12_345.5 },
          can: [{ key: 'engine_rpm', value: '2071' }],
        });
      }
      await sender.drain();
    }
    const api = platform.as(application.token);
    const { body } = await eventually(async () => {
      const answer = await api.get(`/v1/vehicle/${id}/history?from=${start}&until=${start + 500}`);
      expect(answer.body.status).toHaveLength(readings);
      return answer;
    });
    expect(body.status[7]).toMatchObject({
      timestamp: start + 7,
      location: { latitude: 48.8507, longitude: 2.35 },
      status: { mileage: 12_345.5 },
    });
  },
);
