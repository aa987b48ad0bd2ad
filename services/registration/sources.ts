import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Source } from './look-up.ts';
import { createImportedSource } from './sources/imported-source.ts';
import { readProviderSettings } from './sources/provider-settings.ts';
import { createProviderSource, type ProviderHost } from './sources/provider-source.ts';
import { createVinSource } from './sources/vin-source.ts';

/** Where registration data comes from: registers of vehicles in the order of their weight, and the VIN by itself. */
export interface Sources {
  readonly registers: readonly Source[];
  readonly vin: Source;
}

/**
 * The sources of the settings.
 * @throws InvalidSettings when the provider's settings cannot be used
 */
export function createSources(config: ResolvedConfig, host: ProviderHost): Sources {
  const provider = readProviderSettings(config);
  return {
    registers: [
      createImportedSource(host.db),
      ...(provider === undefined ? [] : [createProviderSource(provider, host)]),
    ],
    vin: createVinSource(host.now),
  };
}
