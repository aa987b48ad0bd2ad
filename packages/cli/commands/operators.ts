import { segment } from '../admin-api.ts';
import { command, flag, list, optional, required } from '../command.ts';

const name = required('name of the operator');
const roles = 'viewer, operator or administrator';

/** The accounts of the people who run the platform. */
export const operatorCommands = [
  command({
    name: 'operator create',
    summary: 'create an operator, who signs in with a browser; the password is shown only once',
    options: {
      name: required('name to sign in with'),
      role: required(roles),
      app: list('appId of an application that the operator is limited to; all without it'),
      'must-change': flag('the operator must change the password after the first sign-in'),
    },
    run: ({ api }, { name, role, app, ...options }) =>
      api.post('operators', { name, role, appIds: app ?? [], mustChangePassword: options['must-change'] }),
  }),
  command({
    name: 'operator list',
    summary: 'list the operators with their roles and applications',
    run: ({ api }) => api.get('operators'),
  }),
  command({
    name: 'operator set',
    summary: 'change the role of an operator, or the applications; sessions have the new ones at once',
    options: {
      name,
      role: optional(roles),
      app: list('appId of an application that the operator is limited to from now on'),
      'all-apps': flag('the operator is limited to no application from now on'),
    },
    async run({ api }, { name, role, app, ...options }) {
      if (app !== undefined && options['all-apps']) throw new Error('give either --app or --all-apps');
      const appIds = options['all-apps'] ? [] : app;
      if (role === undefined && appIds === undefined) throw new Error('give --role, --app or --all-apps');
      return api.put(`operators/${segment(name)}`, { role, appIds });
    },
  }),
  command({
    name: 'operator reset',
    summary: 'replace the password of an operator, shown only once; all sessions of the operator end',
    options: { name },
    run: ({ api }, options) => api.post(`operators/${segment(options.name)}/password`, {}),
  }),
  command({
    name: 'operator end-sessions',
    summary: 'end all sessions of an operator',
    options: { name },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}/sessions`),
  }),
  command({
    name: 'operator delete',
    summary: 'delete an operator; all sessions of the operator end',
    options: { name },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}`),
  }),
];
