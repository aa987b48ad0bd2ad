import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const deviceCommands: readonly Command[] = [
  {
    name: 'device create',
    summary: 'enter a device, linked to a vehicle if one is given; its secret is shown only now',
    required: ['id', 'model'],
    optional: ['vehicle', 'app', 'bluetooth-name', 'bluetooth-pin'],
    run: (api, { text }) =>
      api.post('devices', {
        id: text.id,
        model: text.model,
        vehicleId: text.vehicle,
        appId: text.app,
        bluetoothName: text['bluetooth-name'],
        bluetoothPin: text['bluetooth-pin'],
      }),
  },
  {
    name: 'device list',
    summary: 'list the devices, of one application or of all',
    optional: ['app', 'limit', 'after'],
    run: (api, { text: { app, limit, after } }) => api.get('devices', { appId: app, limit, after }),
  },
  {
    name: 'device secret',
    summary: 'give a device a new secret, shown only now; with --overlap the old one holds for so many seconds too',
    required: ['id'],
    optional: ['overlap'],
    run: (api, { text: { id, overlap } }) =>
      api.post(`devices/${segment(id)}/secret`, overlap === undefined ? {} : { overlapSeconds: overlap }),
  },
  {
    name: 'device revoke-certificates',
    summary: 'let no client certificate in any more that was issued to a device before now',
    required: ['id'],
    run: (api, { text }) => api.delete(`devices/${segment(text.id)}/certificates`),
  },
  {
    name: 'device link',
    summary: 'link a device to a vehicle',
    required: ['id', 'vehicle'],
    run: (api, { text }) => api.post(`devices/${segment(text.id)}/link`, { vehicleId: text.vehicle }),
  },
  {
    name: 'device move',
    summary: 'move a device to another vehicle',
    required: ['id', 'vehicle'],
    run: (api, { text }) => api.put(`devices/${segment(text.id)}/link`, { vehicleId: text.vehicle }),
  },
  {
    name: 'device unlink',
    summary: 'unlink a device from its vehicle',
    required: ['id'],
    run: (api, { text }) => api.delete(`devices/${segment(text.id)}/link`),
  },
];
