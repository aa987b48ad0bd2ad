import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Source } from '../lookup/rules.ts';
import { createImportedSource } from './imported-source.ts';
import { createProviderSource, type ProviderHost } from './provider.ts';
import { readProviderSettings } from './provider-settings.ts';
import { createVinSource } from './vin-source.ts';

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
