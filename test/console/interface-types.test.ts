import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { type OpenApiDocument, writeInterfaceTypes } from '../../apps/console/interface-types.ts';
import { loadServices } from '../../services/platform/services.ts';

it('the console calls the interface as its OpenAPI document describes it; npm run console:types writes the types again', async () => {
  const platform = await startTestPlatform(await loadServices());
  try {
    const document = (await (await fetch(`${platform.httpUrl}/docs/json`)).json()) as OpenApiDocument;
    await expect(await writeInterfaceTypes(document)).toMatchFileSnapshot('../../apps/console/src/api/interface.d.ts');
  } finally {
    await platform.stop();
  }
});
