import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packNpmClient } from '../clients/npm.ts';
import { packPythonClient } from '../clients/python.ts';
import { root } from '../run-command.ts';
import { buildChanged } from './sources.ts';

const output = join(root, 'clients/dist');
const sources = [
  ...['packages/client', 'clients/python', 'scripts/clients', 'scripts/build/clients.ts'],
  ...['package.json', 'LICENSE', 'NOTICE'],
];

/** Builds the clients that the platform serves into clients/dist. @param documentPath the OpenAPI document */
export async function buildClients(documentPath: string): Promise<void> {
  mkdirSync(output, { recursive: true });
  await buildChanged(join(output, '.sources'), sources, async () => {
    console.error('building the clients');
    writeFileSync(join(output, 'client.tgz'), await packNpmClient());
    const { name, content } = packPythonClient(JSON.parse(readFileSync(documentPath, 'utf8')));
    writeFileSync(join(output, name), content);
  });
}
