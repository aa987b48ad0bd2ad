import { segment } from '../admin-api.ts';
import { command, flag, optional } from '../command.ts';

const limit = optional('maximum number of rows');
const after = optional('id of the last row of the previous page');

/** Quarantine and audit. */
export const operationCommands = [
  command({
    name: 'quarantine list',
    summary: 'list quarantined uploads with their faults',
    options: { limit, after },
    run: ({ api }, page) => api.get('quarantine', page),
  }),
  command({
    name: 'quarantine show',
    summary: 'show a quarantined upload',
    operand: 'ID',
    run: ({ api, operand }) => api.get(`quarantine/${segment(operand)}`),
  }),
  command({
    name: 'quarantine open',
    summary: 'print the payload of a quarantined upload in base64; the access is recorded in the audit',
    operand: 'ID',
    run: ({ api, operand }) => api.post(`quarantine/${segment(operand)}/open`, {}),
  }),
  command({
    name: 'quarantine replay',
    summary: 'replay quarantined uploads through ingest',
    operand: '[ID …]',
    options: { all: flag('replay all unresolved uploads') },
    async run({ api, operands }, { all }) {
      if (all === operands.length > 0) throw new Error('give either IDs or --all');
      return api.post('quarantine/replay', all ? { all } : { ids: operands });
    },
  }),
  command({
    name: 'audit list',
    summary: 'list the audit of an application, or without --app that of the operator',
    options: { app: optional('appId of the application'), limit, after },
    run: ({ api }, { app: appId, ...page }) => api.get('audit', { appId, ...page }),
  }),
  command({
    name: 'audit verify',
    summary: 'verify the hash chains of the audit; exits with 1 when a row was changed, removed or inserted',
    async run({ api }) {
      const verdict = (await api.get('audit/verify')) as { ok: boolean };
      if (!verdict.ok) process.exitCode = 1;
      return verdict;
    },
  }),
];
