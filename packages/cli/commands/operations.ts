import { finishAdminTokenRotation, rotateAdminToken } from '@odograph/runtime/admin-token';
import { segment, UsageFailure } from '../server/admin-api.ts';
import { command, flag, optional, required } from './command.ts';

const limit = optional('maximum number of rows');
const after = optional('id of the last row of the previous page');

/** Quarantine, audit and the admin token. */
export const operationCommands = [
  command({
    name: 'quarantine list',
    summary: 'list quarantined uploads with their faults',
    examples: ['quarantine list --limit 20'],
    options: { limit, after },
    run: ({ api }, page) => api.get('quarantine', page),
  }),
  command({
    name: 'quarantine show',
    summary: 'show a quarantined upload',
    examples: ['quarantine show 17'],
    operand: 'ID',
    run: ({ api, operand }) => api.get(`quarantine/${segment(operand)}`),
  }),
  command({
    name: 'quarantine open',
    summary: 'print the payload of a quarantined upload in base64; the access is recorded in the audit',
    examples: ['quarantine open 17 | jq -r .base64 | base64 -d'],
    operand: 'ID',
    run: ({ api, operand }) => api.post(`quarantine/${segment(operand)}/open`, {}),
  }),
  command({
    name: 'quarantine replay',
    summary: 'replay quarantined uploads through ingest',
    examples: ['quarantine replay 17 18', 'quarantine replay --all'],
    operand: '[ID …]',
    options: { all: flag('replay all unresolved uploads') },
    async run({ api, operands }, { all }) {
      if (all === operands.length > 0) throw new UsageFailure('give either IDs or --all');
      return api.post('quarantine/replay', all ? { all } : { ids: operands });
    },
  }),
  command({
    name: 'quarantine dismiss',
    summary: 'dismiss quarantined uploads that will never be stored; they count as resolved',
    examples: ["quarantine dismiss 17 18 --reason 'device under test'"],
    operand: '[ID …]',
    options: { reason: required('reason, kept with the upload and in the audit') },
    async run({ api, operands }, { reason }) {
      if (operands.length === 0) throw new UsageFailure('give one or more IDs');
      return api.post('quarantine/dismiss', { ids: operands, reason });
    },
  }),
  command({
    name: 'admin-token rotate',
    summary: 'put a new admin token into the file of the data directory; the current one stays valid until --finish',
    examples: ['admin-token rotate', 'admin-token rotate --finish'],
    options: { finish: flag('drop the older token') },
    async run({ config }, { finish }) {
      await (finish ? finishAdminTokenRotation(config) : rotateAdminToken(config));
      const file = `${config.DATA_DIR}/admin-token`;
      return { file, next: finish ? 'restart every service' : 'restart every service, then run with --finish' };
    },
  }),
  command({
    name: 'audit list',
    summary: 'list the audit of an application, or without --app that of the operator',
    examples: ['audit list --app app-7f3a --limit 100', 'audit list'],
    options: { app: optional('appId of the application'), limit, after },
    run: ({ api }, { app: appId, ...page }) => api.get('audit', { appId, ...page }),
  }),
  command({
    name: 'audit verify',
    summary: 'verify the hash chains of the audit; exits with 1 when a row was changed, removed or inserted',
    examples: ['audit verify'],
    async run({ api }) {
      const verdict = (await api.get('audit/verify')) as { ok: boolean };
      if (!verdict.ok) process.exitCode = 1;
      return verdict;
    },
  }),
];
