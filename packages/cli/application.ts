import type { Command } from './command.ts';

export const applicationCommands: readonly Command[] = [
  {
    name: 'application create',
    summary: 'create an application; its appKey is shown only now',
    required: ['name'],
    run: (api, { text }) => api.post('applications', { name: text.name }),
  },
  {
    name: 'application list',
    summary: 'list the applications',
    run: (api) => api.get('applications'),
  },
];
