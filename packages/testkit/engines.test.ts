import { describe, expect, it } from 'vitest';
import { chooseEngineSource, pinnedImage } from './engines.ts';

describe('the engines of a test run', () => {
  it('are those of the settings, if configured', () => {
    expect(chooseEngineSource('redis://host', 'containers')).toBe('settings');
    expect(chooseEngineSource('redis://host', undefined)).toBe('settings');
  });

  it('are containers when TEST_ENGINES=containers, and embedded otherwise', () => {
    expect(chooseEngineSource(undefined, 'containers')).toBe('containers');
    expect(chooseEngineSource(undefined, 'embedded')).toBe('embedded');
    expect(chooseEngineSource(undefined, '')).toBe('embedded');
  });

  it('are not chosen from an unknown value of TEST_ENGINES', () => {
    expect(() => chooseEngineSource(undefined, 'container')).toThrow('TEST_ENGINES must be containers or embedded');
  });

  it('have the versions that docker-compose.yml pins', () => {
    expect(pinnedImage('timescale/timescaledb')).toMatch(/^timescale\/timescaledb:\d+\.\d+\.\d+-pg\d+$/);
    expect(pinnedImage('redis')).toMatch(/^redis:\d/);
    expect(() => pinnedImage('mysql')).toThrow('docker-compose.yml pins no image of mysql');
  });
});
