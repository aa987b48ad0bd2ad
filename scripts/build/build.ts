import { join } from 'node:path';
import { buildConsole } from '../../apps/console/build.ts';
import { root } from '../run-command.ts';
import { buildClients } from './clients.ts';
import { buildInterface, documentPath } from './interface.ts';
import { buildChanged } from './sources.ts';

const consoleSources = [
  ...['index.html', 'package.json', 'vite.config.ts', 'build.ts', 'public', 'src'].map(
    (name) => `apps/console/${name}`,
  ),
  ...['packages/client/event-stream.ts', 'packages/client/retry.ts', 'packages/contracts/fields.ts', 'NOTICE'],
  ...['packages/reports/columns.ts', 'packages/reports/texts'],
];

/** Builds what the platform serves: the console and the clients of its interface, each if its sources have changed. */
export default async function build(): Promise<void> {
  await buildInterface();
  const dist = join(root, 'apps/console/dist');
  await buildChanged(join(dist, '.sources'), consoleSources, () => {
    console.error('building the console');
    return buildConsole();
  });
  await buildClients(documentPath);
}
