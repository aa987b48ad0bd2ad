import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const vehicleCommands: readonly Command[] = [
  {
    name: 'vehicle create',
    summary: 'enter a vehicle of an application',
    required: ['app', 'plate'],
    optional: ['vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind'],
    lists: ['accessory'],
    run: (api, { text: { app, ...description }, lists }) =>
      api.post('vehicles', { ...description, appId: app, accessories: lists.accessory }),
  },
  {
    name: 'vehicle list',
    summary: 'list the vehicles of an application with their devices',
    required: ['app'],
    optional: ['limit', 'after'],
    run: (api, { text: { app, limit, after } }) => api.get('vehicles', { appId: app, limit, after }),
  },
  {
    name: 'vehicle set',
    summary: 'set the size of the fuel tank in litres, which turns percentages into consumption',
    required: ['id', 'tank-litres'],
    run: (api, { text }) => api.put(`vehicles/${segment(text.id)}`, { tankLitres: text['tank-litres'] }),
  },
];
