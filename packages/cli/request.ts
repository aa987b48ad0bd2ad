import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

function oneId(words: readonly string[]): string {
  if (words.length !== 1) throw new Error('give one ID');
  return segment(words[0]);
}

export const requestCommands: readonly Command[] = [
  {
    name: 'request list',
    summary: 'list the requests for vehicles; --state pending, approved or declined',
    optional: ['app', 'state', 'limit', 'after'],
    run: (api, { text: { app, ...rest } }) => api.get('requests', { appId: app, ...rest }),
  },
  {
    name: 'request approve',
    summary: 'approve a request: enters the vehicle',
    words: 'ID',
    optional: ['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind'],
    lists: ['accessory'],
    run: async (api, { words, text, lists }) =>
      api.post(`requests/${oneId(words)}/approve`, { ...text, accessories: lists.accessory }),
  },
  {
    name: 'request decline',
    summary: 'decline a request',
    words: 'ID',
    required: ['reason'],
    run: async (api, { words, text }) => api.post(`requests/${oneId(words)}/decline`, { reason: text.reason }),
  },
];
