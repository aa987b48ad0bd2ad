import { segment } from '../admin-api.ts';
import { command, list, numeric, optional, required } from '../command.ts';

const app = required('appId of the application');
const limit = optional('maximum number of rows');
const after = optional('id of the last row of the previous page');
const description = {
  vin: optional('vehicle identification number'),
  brand: optional('make'),
  model: optional('model'),
  energy: optional('energy, such as EL or GO'),
  seats: optional('number of seats'),
  gearbox: optional('gearbox: MANUAL or AUTOMATIC'),
  kind: optional('kind of vehicle, such as VP'),
  accessory: list('accessory, such as CARDHOLDER'),
};

/** Vehicles, and the requests of applications for vehicles. */
export const vehicleCommands = [
  command({
    name: 'vehicle create',
    summary: 'create a vehicle of an application',
    options: { app, plate: required('registration plate'), ...description },
    run: ({ api }, { app: appId, accessory, seats, ...given }) =>
      api.post('vehicles', { ...given, appId, seats: numeric(seats), accessories: accessory }),
  }),
  command({
    name: 'vehicle list',
    summary: 'list the vehicles of an application with their devices',
    options: { app, limit, after },
    run: ({ api }, { app: appId, ...page }) => api.get('vehicles', { appId, ...page }),
  }),
  command({
    name: 'vehicle set',
    summary: 'set the size of the fuel tank, which converts percentages into consumption',
    options: { id: required('id of the vehicle'), 'tank-litres': required('litres') },
    run: ({ api }, options) =>
      api.put(`vehicles/${segment(options.id)}`, { tankLitres: numeric(options['tank-litres']) }),
  }),
  command({
    name: 'request list',
    summary: 'list the requests for vehicles',
    options: {
      app: optional('appId of the application; all without it'),
      state: optional('pending, approved or declined'),
      limit,
      after,
    },
    run: ({ api }, { app: appId, ...filter }) => api.get('requests', { appId, ...filter }),
  }),
  command({
    name: 'request approve',
    summary: 'approve a request and create its vehicle',
    operand: 'ID',
    options: { plate: optional('registration plate'), ...description },
    run: ({ api, operand }, { accessory, seats, ...given }) =>
      api.post(`requests/${segment(operand)}/approve`, { ...given, seats: numeric(seats), accessories: accessory }),
  }),
  command({
    name: 'request decline',
    summary: 'decline a request',
    operand: 'ID',
    options: { reason: required('reason, shown to the application') },
    run: ({ api, operand }, { reason }) => api.post(`requests/${segment(operand)}/decline`, { reason }),
  }),
];
