import { segment } from '../admin-api.ts';
import { command, flag, list, optional, required } from '../command.ts';
import { UsageFailure } from '../failures.ts';

const name = required('name of the operator');
const roles = 'viewer, operator or administrator';
const roleNames = ['viewer', 'operator', 'administrator'];

/** The accounts of the people who run the platform. */
export const operatorCommands = [
  command({
    name: 'operator create',
    summary: 'create an operator, who signs in with a browser; the password is shown only once',
    examples: [
      'operator create --name alex --role administrator',
      'operator create --name kim --role viewer --app app-7f3a --must-change',
    ],
    options: {
      name: required('name to sign in with'),
      role: required(roles, roleNames),
      app: list('appId of an application that the operator is limited to; all without it'),
      'must-change': flag('the operator must change the password after the first sign-in'),
    },
    run: ({ api }, { name, role, app, ...options }) =>
      api.post('operators', { name, role, appIds: app ?? [], mustChangePassword: options['must-change'] }),
  }),
  command({
    name: 'operator list',
    summary: 'list the operators with their roles and applications',
    examples: ['operator list'],
    run: ({ api }) => api.get('operators'),
  }),
  command({
    name: 'operator set',
    summary: 'change the role of an operator, or the applications; sessions have the new ones at once',
    examples: ['operator set --name kim --role operator', 'operator set --name kim --all-apps'],
    options: {
      name,
      role: optional(roles, roleNames),
      app: list('appId of an application that the operator is limited to from now on'),
      'all-apps': flag('the operator is limited to no application from now on'),
    },
    async run({ api }, { name, role, app, ...options }) {
      if (app !== undefined && options['all-apps']) throw new UsageFailure('give either --app or --all-apps');
      const appIds = options['all-apps'] ? [] : app;
      if (role === undefined && appIds === undefined) throw new UsageFailure('give --role, --app or --all-apps');
      return api.put(`operators/${segment(name)}`, { role, appIds });
    },
  }),
  command({
    name: 'operator reset',
    summary: 'replace the password of an operator, shown only once; all sessions of the operator end',
    examples: ['operator reset --name kim'],
    options: { name },
    run: ({ api }, options) => api.post(`operators/${segment(options.name)}/password`, {}),
  }),
  command({
    name: 'operator end-sessions',
    summary: 'end all sessions of an operator',
    examples: ['operator end-sessions --name kim'],
    options: { name },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}/sessions`),
  }),
  command({
    name: 'operator delete',
    summary: 'delete an operator; all sessions of the operator end',
    examples: ['operator delete --name kim'],
    options: { name },
    run: ({ api }, options) => api.delete(`operators/${segment(options.name)}`),
  }),
];
