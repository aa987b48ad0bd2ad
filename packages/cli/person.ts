import { segment } from './admin-api.ts';
import type { Command } from './command.ts';

export const personCommands: readonly Command[] = [
  {
    name: 'person export',
    summary: 'print everything stored about a driver or user',
    optional: ['app'],
    words: 'ID',
    run: (api, { text, words }) => api.get(`persons/${segment(words[0])}`, { appId: text.app }),
  },
  {
    name: 'person erase',
    summary: 'replace the id of a driver or user everywhere by a pseudonym; cannot be undone',
    optional: ['app'],
    words: 'ID',
    run: (api, { text, words }) =>
      api.post(`persons/${segment(words[0])}/erase`, text.app === undefined ? {} : { appId: text.app }),
  },
];
