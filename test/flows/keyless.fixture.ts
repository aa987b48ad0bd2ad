import { randomUUID } from 'node:crypto';
import { accessService } from '@odograph/access/service';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { deviceTopic } from '@odograph/contracts/topics';
import { fleetService } from '@odograph/fleet/service';
import { acceptKeyList, type DeviceIdentity, type KeyList, parseKeyList } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { parseTokenText, verifyToken } from '@odograph/keyless/token';
import { registrationService } from '@odograph/registration/service';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { expect } from 'vitest';

/** A device with the reference verifier; its key list outlives its connections. */
export interface KeyDevice {
  readonly identity: Provisioned;
  /** Versions of the received lists, in order. */
  readonly received: number[];
  list(): KeyList | undefined;
  /** Verifies a token offline. */
  verdict(token: string): string;
  /** @param confirms whether it confirms accepted lists */
  connect(confirms?: boolean): Promise<void>;
  disconnect(): Promise<void>;
}

/** Fleet, a broker and two processes of the command service that can each be stopped and started. */
export interface KeylessFixture {
  readonly fleet: TestPlatform;
  readonly application: TestApplication;
  readonly api: ApiClient;
  startBroker(): Promise<void>;
  stopBroker(): Promise<void>;
  startCommand(): Promise<void>;
  stopCommand(): Promise<void>;
  newVehicle(): Promise<TestVehicle>;
  /** Provisions a device key to the vehicle's device. */
  newDevice(vehicle: TestVehicle): Promise<KeyDevice>;
  /** Creates the same device with erased memory. */
  erased(device: KeyDevice): KeyDevice;
  issue(vehicle: TestVehicle, driver?: string): Promise<{ authorizationId: string; token: string; key: string }>;
  revoke(authorizationId: string): Promise<void>;
  /** Waits until the device has confirmed its newest list. */
  expectConfirmed(device: KeyDevice): Promise<void>;
  disconnectAll(): Promise<void>;
  stop(): Promise<void>;
}

interface Provisioned extends DeviceIdentity {
  readonly secret: string;
}

function createKeyDevice(mqttUrl: string, identity: Provisioned): KeyDevice {
  const received: number[] = [];
  let list: KeyList | undefined;
  let connection: DeviceConnection | undefined;
  return {
    identity,
    received,
    list: () => list,
    verdict(token) {
      const verdict = verifyToken(nodeCrypto, identity, list, parseTokenText(token) ?? Buffer.alloc(0), Date.now());
      return verdict.ok ? 'OK' : verdict.reason;
    },
    async connect(confirms = true) {
      const opened = await connectDevice(mqttUrl, identity);
      connection = opened;
      opened.client.on('message', (_topic, payload) => {
        const message = parseKeyList(payload.toString());
        if (!message) return;
        received.push(message.version);
        const accepted = acceptKeyList(nodeCrypto, identity, list, message);
        list = accepted.list;
        if (confirms) opened.acknowledge(accepted.acknowledgement).catch(() => undefined);
      });
      await opened.client.subscribeAsync(deviceTopic(identity.deviceId, 'keys'), { qos: 1 });
    },
    async disconnect() {
      await connection?.close('cut');
      connection = undefined;
    },
  };
}

/** A part of the fixture that can be stopped and started. */
function createPart(start: () => Promise<TestPlatform>) {
  let running: TestPlatform | undefined;
  return {
    async start() {
      running ??= await start();
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
  };
}

/** Settings that the processes of one deployment share. */
async function sharedSettings(): Promise<Record<string, string>> {
  return {
    QUEUE_PREFIX: `test-${randomUUID()}`,
    MQTT_PORT: String(await freePort()),
    ENCRYPTION_KEYS: randomUUID() + randomUUID(),
    ACK_TIMEOUT_MS: '2000',
  };
}

export async function startKeylessFixture(): Promise<KeylessFixture> {
  const shared = await sharedSettings();
  const fleet = await startTestPlatform([fleetService, accessService, registrationService], shared);
  const broker = createPart(() => startTestPlatform([brokerService], shared));
  const commands = [0, 1].map(() => createPart(() => startTestPlatform([commandService], shared)));
  const application = await createApplication(fleet.db);
  const api = clientWithToken(fleet.httpUrl, application.token);
  const admin = createApiClient(fleet.httpUrl, { authorization: `Bearer ${testAdminToken}` });
  const devices: KeyDevice[] = [];
  const adopt = (identity: Provisioned) => {
    const device = createKeyDevice(fleet.mqttUrl, identity);
    devices.push(device);
    return device;
  };
  const stopCommand = async () => {
    for (const command of commands) await command.stop();
  };
  const disconnectAll = async () => {
    for (const device of devices.splice(0)) await device.disconnect();
  };
  return {
    ...{ fleet, application, api, stopCommand, disconnectAll },
    startBroker: broker.start,
    stopBroker: broker.stop,
    async startCommand() {
      for (const command of commands) await command.start();
    },
    newVehicle: () => createVehicle(fleet.db, application),
    async newDevice({ deviceId, secret }) {
      const { body } = await admin.post(`/v1/x/admin/devices/${deviceId}/key`);
      const identity = { deviceId, secret, deviceKey: Buffer.from(body.key, 'base64url'), keyVersion: body.keyVersion };
      return adopt(identity);
    },
    erased: ({ identity }) => adopt(identity),
    async issue(vehicle, driver = 'driver') {
      const interval = { from: Date.now() - 1000, until: Date.now() + 3_600_000 };
      const request = { vehicleId: vehicle.id, userId: driver, level: 'DRIVE', ...interval };
      const { status, body } = await api.post('/v1/bluetooth-token', request);
      expect(status).toBe(200);
      return body;
    },
    async revoke(authorizationId) {
      expect((await api.delete('/v1/bluetooth-token', { authorizationId })).status).toBe(200);
    },
    async expectConfirmed(device) {
      await eventually(async () => {
        const { body } = await admin.get(`/v1/x/admin/devices/${device.identity.deviceId}/key`);
        expect([body.confirmedVersion, device.list()?.version]).toEqual([body.listVersion, body.listVersion]);
      }, 15_000);
    },
    async stop() {
      await disconnectAll();
      await stopCommand();
      await broker.stop();
      await fleet.stop();
    },
  };
}
