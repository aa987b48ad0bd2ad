import { readConfig } from '@odograph/runtime/config';
import { useDirectory } from '@odograph/testkit/scopes';
import { expect, it } from 'vitest';
import { moveIn } from './move-in.ts';

const directory = useDirectory();

it('an application does not move in under keys that the platform of the cell does not have', async () => {
  const moving = moveIn(readConfig({ DATA_DIR: directory }), 'postgres://127.0.0.1:1/none', {
    ...{ directory, passphrase: 'correct horse battery staple' },
  });
  await expect(moving).rejects.toThrow(
    'no encryption keys: set ENCRYPTION_KEYS or DATA_DIR to the value that the platform of this cell uses',
  );
});
