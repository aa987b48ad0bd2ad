import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { describe, expect, it } from 'vitest';
import { readHistory, readQuarantine, start } from './sources.fixture.ts';

const execute = promisify(execFile);

const platform = await usePlatform([ingestService, brokerService, queryService]);
const application = await createApplication(platform.db);
const api = platform.as(application.token);

describe('OwnTracks over MQTT', () => {
  const hasMosquitto = spawnSync('mosquitto_pub', ['--help']).error === undefined;

  it.skipIf(!hasMosquitto)('by mosquitto_pub becomes readings of the phone that is the user of the topic', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const { hostname, port } = new URL(platform.mqttUrl);
    const publish = (user: string, message: object) => {
      const identity = ['-i', vehicle.deviceId, '-u', vehicle.deviceId, '-P', vehicle.secret];
      const topic = ['-t', `owntracks/${user}/phone`, '-q', '1', '-m', JSON.stringify(message)];
      return execute('mosquitto_pub', ['-h', hostname, '-p', port, ...identity, ...topic], { timeout: 20_000 });
    };
    await publish(vehicle.deviceId, { _type: 'location', lat: 48.85, lon: 2.35, tst: start, vel: 50, batt: 80 });
    await publish(vehicle.deviceId, { _type: 'transition', event: 'enter', tst: start + 1, lat: 48.85, lon: 2.35 });
    await expect(publish('someone-else', { _type: 'location', lat: 1, lon: 2, tst: start + 2 })).rejects.toThrow();
    expect(await readHistory(api, vehicle.id, 1)).toMatchObject([{ timestamp: start, location: { latitude: 48.85 } }]);
    expect(await readQuarantine(platform.db, vehicle.deviceId)).toEqual([]);
  });
});
