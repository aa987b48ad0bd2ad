import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const quarantineCommands: readonly Command[] = [
  {
    name: 'quarantine list',
    summary: 'list uploads of which something could not be stored, with the reasons',
    optional: ['limit', 'after'],
    run: (api, { text: { limit, after } }) => api.get('quarantine', { limit, after }),
  },
  {
    name: 'quarantine show',
    summary: 'show one of them',
    words: 'ID',
    run: async (api, { words }) => {
      if (words.length !== 1) throw new Error('give one ID');
      return api.get(`quarantine/${segment(words[0])}`);
    },
  },
  {
    name: 'quarantine open',
    summary: 'the bytes of one of them in base64; that they were opened is recorded in the audit',
    words: 'ID',
    run: async (api, { words }) => {
      if (words.length !== 1) throw new Error('give one ID');
      return api.post(`quarantine/${segment(words[0])}/open`, {});
    },
  },
  {
    name: 'quarantine replay',
    summary: 'send quarantined uploads through ingest again, all unresolved ones with --all',
    words: '[ID …]',
    flags: ['all'],
    run: async (api, { words, flags }) => {
      if (flags.has('all') === words.length > 0) throw new Error('give either IDs or --all');
      return api.post('quarantine/replay', flags.has('all') ? { all: true } : { ids: words });
    },
  },
];
