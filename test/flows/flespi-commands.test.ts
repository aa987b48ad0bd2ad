import { randomUUID } from 'node:crypto';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { fleetService } from '@odograph/fleet/service';
import { createGatewayService } from '@odograph/gateway/service';
import { FlespiServer, notConnected } from '@odograph/simulator/flespi-server';
import { roleSettings } from '@odograph/testkit/database-roles';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

const commandToken = `flespi-token-${randomUUID()}`;
const flespi = new FlespiServer();

/** The `response` of a Teltonika device to `setdigout`. */
const isOn = { result: [{ name: 'custom', response: 'DOUT1:ON Timeout:INFINITY' }] };

const settings = {
  ...roleSettings(testDatabaseUrl()),
  ...{ ACK_TIMEOUT_MS: '2000', QUEUE_PREFIX: `flespi-${randomUUID()}` },
};
const gatewayService = createGatewayService(await flespi.start());
const platform = await usePlatform([brokerService, gatewayService, fleetService, commandService], settings);
// A second gateway of the same platform.
await usePlatform([gatewayService], settings);
const { admin } = platform;
const model = `flespi-${randomUUID()}`;
const say = (text: string) => ({ flespi: { name: 'custom', properties: { text } } });
const { status } = await admin.put(`/v1/x/admin/device-models/${model}`, {
  protocol: 'source',
  commands: {
    IMMOBILIZE: { ...say('setdigout 1?'), success: ['DOUT1:ON'], refusal: ['disabled from CFG'] },
    HONK: { ...say('horn'), refusal: [] },
  },
  ...{ proprietaryCan: true, bluetooth: false, encryptedCommands: [], digitalOutputs: {}, scenarii: {} },
});
if (status !== 200) throw new Error('the device model is not stored');
beforeEach(() => {
  flespi.calls.length = 0;
  flespi.script = () => [200, isOn];
});
afterAll(() => flespi.stop());

/** Creates a vehicle with a device behind flespi, and a source with or without a token for commands. */
async function connect(token: string | undefined = commandToken) {
  const application = await createApplication(platform.db);
  const ident = randomUUID();
  const deviceId = `${application.appId}:${ident}`;
  const { id } = await createVehicle(platform.db, application, { model, deviceId });
  const source = { appId: application.appId, format: 'flespi', ...(token !== '' && { commandToken: token }) };
  const { body } = await admin.post('/v1/x/admin/sources', source);
  const api = platform.as(application.token);
  const latest = async () => (await api.get(`/v1/x/commands?vehicleId=${id}`)).body.commands[0];
  const act = (action: string) => api.post(`/v1/vehicle/${action}`, { vehicleId: id });
  return { api, id, ident, sourcePath: `/v1/x/admin/sources/${body.sourceId}`, act, latest, source: body };
}

describe('an action on a vehicle whose device is behind flespi', () => {
  it('is what the device answered through flespi, sent once by one of two gateways', async () => {
    const { ident, act, latest } = await connect();
    expect(await act('immobilize')).toMatchObject({ status: 200, body: { Status: 'LOCKED' } });
    expect(flespi.calls).toEqual([
      {
        ident,
        authorization: `FlespiToken ${commandToken}`,
        commands: [{ name: 'custom', properties: { text: 'setdigout 1?' }, timeout: 1 }],
      },
    ]);
    expect(await latest()).toMatchObject({ state: 'acknowledged' });
    flespi.script = () => [200, { result: [{ name: 'custom', executed: true }] }];
    expect((await act('honk')).status).toBe(200);
  });

  it('is refused with the reason of flespi or of the device', async () => {
    const { act, latest } = await connect();
    flespi.script = () => [400, { errors: [{ code: 2, reason: notConnected('custom') }] }];
    const refused = await act('immobilize');
    expect([refused.status, refused.body.reason, refused.body.message]).toEqual([
      ...[504, 'REFUSED', notConnected('custom')],
    ]);
    expect(await latest()).toMatchObject({ state: 'refused' });
    flespi.script = () => [200, { result: [{ response: 'DOUT1 is disabled from CFG' }] }];
    expect((await act('immobilize')).body.message).toBe('DOUT1 is disabled from CFG');
  });

  it('is unknown when flespi is killed while it has the command', async () => {
    flespi.script = (_call, response) => void response.destroy();
    const { act, latest } = await connect();
    expect((await act('immobilize')).body.reason).toBe('NO_ACKNOWLEDGEMENT');
    expect([flespi.calls.length, (await latest()).state]).toEqual([1, 'unknown']);
  });

  it('is corrected by an answer that arrives after its time', async () => {
    let answerLate = (): void => undefined;
    flespi.script = (_call, response) => {
      answerLate = () => void response.end(JSON.stringify(isOn));
      return undefined;
    };
    const { act, latest } = await connect();
    expect((await act('immobilize')).body.reason).toBe('NO_ACKNOWLEDGEMENT');
    expect((await latest()).state).toBe('unknown');
    answerLate();
    await eventually(async () => expect((await latest()).state).toBe('acknowledged'));
  });

  it('fails at once without a token or without a command in the model, and again once the token is removed', async () => {
    const { act, sourcePath, api, id } = await connect('');
    const actions = async () => (await api.get(`/v1/vehicle/actions?vehicleId=${id}`)).body.actions;
    expect((await act('immobilize')).body.reason).toBe('ACTION_NOT_SUPPORTED');
    expect((await admin.put(`${sourcePath}/command-token`, { token: commandToken })).status).toBe(200);
    expect((await act('immobilize')).status).toBe(200);
    expect((await act('lock')).body.reason).toBe('ACTION_NOT_SUPPORTED');
    expect(await actions()).toEqual(['HONK']);
    expect((await admin.delete(`${sourcePath}/command-token`)).status).toBe(200);
    expect((await act('immobilize')).body.reason).toBe('ACTION_NOT_SUPPORTED');
    expect(flespi.calls).toHaveLength(1);
  });

  it('uses no token of another application', async () => {
    const { act } = await connect('');
    await connect();
    expect((await act('immobilize')).body.reason).toBe('ACTION_NOT_SUPPORTED');
    expect(flespi.calls).toEqual([]);
  });
});
