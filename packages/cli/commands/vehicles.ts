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
