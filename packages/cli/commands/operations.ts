import { finishAdminTokenRotation, rotateAdminToken } from '@odograph/runtime/admin-token';
import { segment } from '../admin-api.ts';
import { command, flag, optional, required } from '../command.ts';

const limit = optional('maximum number of rows');
const after = optional('id of the last row of the previous page');

/** Quarantine, audit and the admin token. */
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
    name: 'quarantine dismiss',
    summary: 'dismiss quarantined uploads that will never be stored; they count as resolved',
    operand: '[ID …]',
    options: { reason: required('reason, kept with the upload and in the audit') },
    async run({ api, operands }, { reason }) {
      if (operands.length === 0) throw new Error('give one or more IDs');
      return api.post('quarantine/dismiss', { ids: operands, reason });
    },
  }),
  command({
    name: 'admin-token rotate',
    summary: 'put a new admin token into the file of the data directory; the current one stays valid until --finish',
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
