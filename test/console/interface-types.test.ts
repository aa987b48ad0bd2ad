import { eventually } from '@odograph/testkit/eventually';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { type OpenApiDocument, writeInterfaceTypes, writeLimits } from '../../apps/console/interface-types.ts';
import { loadServices } from '../../services/platform/services.ts';

it('the console calls the interface as its OpenAPI document describes it; npm run console:types writes the types again', async () => {
  const platform = await startTestPlatform(await loadServices());
  try {
    const document = await eventually(async () => {
      const response = await fetch(`${platform.httpUrl}/docs/json`);
      // A busy machine sheds requests while the platform starts.
      expect(response.status).toBe(200);
      return (await response.json()) as OpenApiDocument;
    });
    await expect(await writeInterfaceTypes(document)).toMatchFileSnapshot('../../apps/console/src/api/interface.d.ts');
    await expect(writeLimits(document)).toMatchFileSnapshot('../../apps/console/src/api/limits.ts');
  } finally {
    await platform.stop();
  }
});
