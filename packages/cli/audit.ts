import type { Command } from './command.ts';

export const auditCommands: readonly Command[] = [
  {
    name: 'audit list',
    summary: 'list who did what to an application, without --app what concerns none',
    optional: ['app', 'limit', 'after'],
    run: (api, { text: { app, limit, after } }) => api.get('audit', { appId: app, limit, after }),
  },
  {
    name: 'audit verify',
    summary: 'find rows of the audit that were changed, removed or inserted; then the exit code is 1',
    async run(api) {
      const verdict = (await api.get('audit/verify')) as { ok: boolean };
      if (!verdict.ok) process.exitCode = 1;
      return verdict;
    },
  },
];
