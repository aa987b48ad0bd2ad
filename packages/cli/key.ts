import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const keyCommands: readonly Command[] = [
  {
    name: 'device key',
    summary: 'give a device a key for keyless access, or a new one; it is shown only now',
    required: ['id'],
    run: (api, { text }) => api.post(`devices/${segment(text.id)}/key`, {}),
  },
  {
    name: 'device key-state',
    summary: 'tell which key a device has, and which list of keys it was sent and confirmed',
    required: ['id'],
    run: (api, { text }) => api.get(`devices/${segment(text.id)}/key`),
  },
  {
    name: 'key reseal',
    summary: 'seal every device key under the newest of ENCRYPTION_KEYS, so that the older ones can be dropped',
    run: (api) => api.post('device-keys/reseal', {}),
  },
];
