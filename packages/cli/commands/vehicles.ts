import { segment } from '../server/admin-api.ts';
import { command, list, numeric, optional, readJson, required } from './command.ts';

const app = required('appId of the application');
const limit = optional('maximum number of rows');
const after = optional('id of the last row of the previous page');
const description = {
  vin: optional('vehicle identification number'),
  brand: optional('make'),
  model: optional('model'),
  energy: optional('energy, such as EL or GO'),
  seats: optional('number of seats'),
  gearbox: optional('gearbox: MANUAL or AUTOMATIC', ['MANUAL', 'AUTOMATIC']),
  kind: optional('kind of vehicle, such as VP'),
  accessory: list('accessory, such as CARDHOLDER'),
};

/** Vehicles, and the requests of applications for vehicles. */
export const vehicleCommands = [
  command({
    name: 'vehicle create',
    summary: 'create a vehicle of an application',
    examples: ['vehicle create --app app-7f3a --plate AB-123-CD --brand Renault --model Zoe --energy EL --seats 5'],
    options: { app, plate: required('registration plate'), ...description },
    run: ({ api }, { app: appId, accessory, seats, ...given }) =>
      api.post('vehicles', { ...given, appId, seats: numeric(seats), accessories: accessory }),
  }),
  command({
    name: 'vehicle list',
    summary: 'list the vehicles of an application with their devices',
    examples: ['vehicle list --app app-7f3a', 'vehicle list --app app-7f3a --limit 100 --after 1000000100'],
    options: { app, limit, after },
    run: ({ api }, { app: appId, ...page }) => api.get('vehicles', { appId, ...page }),
  }),
  command({
    name: 'vehicle set',
    summary: 'set the size of the fuel tank, which converts percentages into consumption',
    examples: ['vehicle set --id 1000000001 --tank-litres 45'],
    options: { id: required('id of the vehicle'), 'tank-litres': required('litres') },
    run: ({ api }, options) =>
      api.put(`vehicles/${segment(options.id)}`, { tankLitres: numeric(options['tank-litres']) }),
  }),
  command({
    name: 'request list',
    summary: 'list the requests for vehicles',
    examples: ['request list --state pending'],
    options: {
      app: optional('appId of the application; all without it'),
      state: optional('pending, approved or declined', ['pending', 'approved', 'declined']),
      limit,
      after,
    },
    run: ({ api }, { app: appId, ...filter }) => api.get('requests', { appId, ...filter }),
  }),
  command({
    name: 'request approve',
    summary: 'approve a request and create its vehicle',
    examples: ['request approve 0197a1de-5f0e-7000-8000-000000000002 --brand Renault --model Zoe'],
    operand: 'ID',
    options: { plate: optional('registration plate'), ...description },
    run: ({ api, operand }, { accessory, seats, ...given }) =>
      api.post(`requests/${segment(operand)}/approve`, { ...given, seats: numeric(seats), accessories: accessory }),
  }),
  command({
    name: 'request decline',
    summary: 'decline a request',
    examples: ["request decline 0197a1de-5f0e-7000-8000-000000000002 --reason 'not our vehicle'"],
    operand: 'ID',
    options: { reason: required('reason, shown to the application') },
    run: ({ api, operand }, { reason }) => api.post(`requests/${segment(operand)}/decline`, { reason }),
  }),
];

/** Parses LATITUDE,LONGITUDE; the platform rejects other text. */
function placeOf(place: string | undefined, radius: string | undefined): object | undefined {
  if (place === undefined) return undefined;
  const [latitude, longitude] = place.split(',').map(numeric);
  return { latitude, longitude, radiusMetres: numeric(radius ?? '200') };
}

/** Commands for shares (docs/shares.md). */
export const shareCommands = [
  command({
    name: 'share create',
    summary: 'create a link that shows a vehicle to people without an account; it is shown only once',
    examples: [
      'share create --vehicle 1000000001 --until 2026-03-02T18:00:00Z',
      'share create --vehicle 1000000001 --until 2026-03-02T18:00:00Z --place 48.85,2.35 --radius 300 --grid 500',
    ],
    options: {
      vehicle: required('id of the vehicle'),
      until: required('latest end, at most 31 days ahead'),
      place: optional('LATITUDE,LONGITUDE; the share ends when the vehicle arrives there'),
      radius: optional('radius of the place in metres; default: 200'),
      booking: optional('id of a booking; the share ends with it'),
      trip: optional('id of the trip to show instead of the live position'),
      grid: optional('grid in metres to round positions to; default: exact positions'),
    },
    run: ({ api }, { vehicle: vehicleId, until, place, radius, booking: bookingId, trip: tripId, grid }) =>
      api.post('shares', {
        ...{ vehicleId, until, bookingId, tripId, gridMetres: numeric(grid) },
        place: placeOf(place, radius),
      }),
  }),
  command({
    name: 'share list',
    summary: 'list shares, with the number of views of each',
    examples: ['share list', 'share list --vehicle 1000000001'],
    options: { vehicle: optional('id of the vehicle; default: all'), limit, after },
    run: ({ api }, { vehicle: vehicleId, ...page }) => api.get('/v1/x/shares', { vehicleId, ...page }),
  }),
  command({
    name: 'share revoke',
    summary: 'revoke a share; its link stops working at once',
    examples: ['share revoke 0197a1de-5f0e-7000-8000-000000000002'],
    operand: 'ID',
    run: ({ api, operand }) => api.delete(`shares/${segment(operand)}`),
  }),
];

const id = required('id of the device');

/** Devices, their credentials, links and device keys, and device models. */
export const deviceCommands = [
  command({
    name: 'device create',
    summary: 'create a device; its secret, and its claim code without an application, are shown only once',
    examples: [
      'device create --id 350000000000001 --model generic --vehicle 1000000001',
      'device create --id 350000000000001 --model teltonika-outputs --app app-7f3a',
    ],
    options: {
      id,
      model: required('name of the device model'),
      vehicle: optional('id of the vehicle to link it to'),
      app: optional('appId of the application'),
      'bluetooth-name': optional('Bluetooth name'),
      'bluetooth-pin': optional('Bluetooth PIN'),
    },
    run: ({ api }, options) =>
      api.post('devices', {
        id: options.id,
        model: options.model,
        vehicleId: options.vehicle,
        appId: options.app,
        bluetoothName: options['bluetooth-name'],
        bluetoothPin: options['bluetooth-pin'],
      }),
  }),
  command({
    name: 'device list',
    summary: 'list the devices',
    examples: ['device list', 'device list --app app-7f3a --limit 100'],
    options: {
      app: optional('appId of the application; all without it'),
      limit: optional('maximum number of rows'),
      after: optional('id of the last row of the previous page'),
    },
    run: ({ api }, { app: appId, ...page }) => api.get('devices', { appId, ...page }),
  }),
  command({
    name: 'device secret',
    summary: 'replace the secret of a device; the new one is shown only once',
    examples: ['device secret --id 350000000000001', 'device secret --id 350000000000001 --overlap 86400'],
    options: { id, overlap: optional('seconds for which the old secret stays valid') },
    run: ({ api }, { id: deviceId, overlap }) =>
      api.post(
        `devices/${segment(deviceId)}/secret`,
        overlap === undefined ? {} : { overlapSeconds: numeric(overlap) },
      ),
  }),
  command({
    name: 'device revoke-certificates',
    summary: 'revoke all client certificates issued to a device until now',
    examples: ['device revoke-certificates --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.delete(`devices/${segment(options.id)}/certificates`),
  }),
  command({
    name: 'device link',
    summary: 'link a device to a vehicle',
    examples: ['device link --id 350000000000001 --vehicle 1000000001'],
    options: { id, vehicle: required('id of the vehicle') },
    run: ({ api }, options) => api.post(`devices/${segment(options.id)}/link`, { vehicleId: options.vehicle }),
  }),
  command({
    name: 'device move',
    summary: 'move a device to another vehicle',
    examples: ['device move --id 350000000000001 --vehicle 1000000002'],
    options: { id, vehicle: required('id of the vehicle') },
    run: ({ api }, options) => api.put(`devices/${segment(options.id)}/link`, { vehicleId: options.vehicle }),
  }),
  command({
    name: 'device unlink',
    summary: 'unlink a device from its vehicle',
    examples: ['device unlink --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.delete(`devices/${segment(options.id)}/link`),
  }),
  command({
    name: 'device release',
    summary: 'unlink a device and take it from its application; the new claim code is shown only once',
    examples: ['device release --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.post(`devices/${segment(options.id)}/release`, {}),
  }),
  command({
    name: 'device delete',
    summary: 'delete a device: its link and session end, and it cannot connect again',
    examples: ['device delete --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.delete(`devices/${segment(options.id)}`),
  }),
  command({
    name: 'device key',
    summary: 'create or replace the device key for keyless access; it is shown only once',
    examples: ['device key --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.post(`devices/${segment(options.id)}/key`, {}),
  }),
  command({
    name: 'device end-tokens',
    summary: 'end every authorization token of a device, also those read by a former manager; drivers request new ones',
    examples: ['device end-tokens --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.delete(`devices/${segment(options.id)}/tokens`),
  }),
  command({
    name: 'device key-state',
    summary: 'show the version of the device key and the key lists sent and confirmed',
    examples: ['device key-state --id 350000000000001'],
    options: { id },
    run: ({ api }, options) => api.get(`devices/${segment(options.id)}/key`),
  }),
  command({
    name: 'model list',
    summary: 'list the device models',
    examples: ['model list'],
    run: ({ api }) => api.get('device-models'),
  }),
  command({
    name: 'model show',
    summary: 'show a device model',
    examples: ['model show generic > model.json'],
    operand: 'NAME',
    run: ({ api, operand }) => api.get(`device-models/${segment(operand)}`),
  }),
  command({
    name: 'model import',
    summary: 'create or replace device models from a JSON file with one of them or an array, as model show prints them',
    examples: ['model import model.json'],
    operand: 'FILE',
    async run({ api, operand }) {
      const models = [await readJson(operand)].flat().map((model) => {
        const { name, ...rest } = Object(model);
        if (typeof name !== 'string') throw new Error(`${operand}: a device model has no name`);
        return { name, rest };
      });
      const imported = [];
      for (const { name, rest } of models) imported.push(await api.put(`device-models/${segment(name)}`, rest));
      return { models: imported };
    },
  }),
  command({
    name: 'key reseal',
    summary:
      'reseal device keys, quarantine and tokens of sources under the newest of ENCRYPTION_KEYS, to remove older ones',
    examples: ['key reseal'],
    run: async ({ api }) => ({
      deviceKeys: await api.post('device-keys/reseal', {}),
      quarantine: await api.post('quarantine/reseal', {}),
      sourceTokens: await api.post('sources/reseal', {}),
    }),
  }),
];
