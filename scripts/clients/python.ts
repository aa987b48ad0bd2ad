import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run-command.ts';
import { type ArchivedFile, writeZip } from './archives.ts';
import { type OpenApiDocument, writeModules } from './python-modules.ts';

const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');

/** A line of RECORD (PEP 427). */
function recordOf({ path, content }: ArchivedFile): string {
  const hash = createHash('sha256').update(content).digest('base64url');
  return `${path},sha256=${hash},${content.length}\n`;
}

/**
 * Packs the client as pip installs it (PEP 427), without Python: a machine that starts the platform may have none.
 * @returns the wheel and its name, which pip reads
 */
export function packPythonClient(document: OpenApiDocument): { readonly name: string; readonly content: Buffer } {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const metadata = `Metadata-Version: 2.1
Name: odograph
Version: ${version}
Summary: Client of Odograph, a self-hosted platform for vehicle telematics
License: Apache-2.0
Requires-Python: >=3.11
`;
  const information = `odograph-${version}.dist-info`;
  const texts: [path: string, text: string][] = [
    ...['__init__.py', 'client.py', 'py.typed'].map((name): [string, string] => [
      `odograph/${name}`,
      read('clients/python/odograph', name),
    ]),
    ...Object.entries(writeModules(document)).map(([name, text]): [string, string] => [`odograph/${name}`, text]),
    [`${information}/METADATA`, metadata],
    [`${information}/WHEEL`, 'Wheel-Version: 1.0\nGenerator: odograph\nRoot-Is-Purelib: true\nTag: py3-none-any\n'],
    [`${information}/licenses/LICENSE`, read('LICENSE')],
    [`${information}/licenses/NOTICE`, read('NOTICE')],
  ];
  const files = texts.map(([path, text]): ArchivedFile => ({ path, content: Buffer.from(text) }));
  const record = `${files.map(recordOf).join('')}${information}/RECORD,,\n`;
  const content = writeZip([...files, { path: `${information}/RECORD`, content: Buffer.from(record) }]);
  return { name: `odograph-${version}-py3-none-any.whl`, content };
}
