import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { descriptorLimit, shareDescriptors } from './descriptors.ts';

describe('descriptor shares', () => {
  it.each([512, 1024, 20_000, 1_048_576])('leave a reserve of %i descriptors', (limit) => {
    const { devices, http } = shareDescriptors(limit);
    expect(limit - devices - http).toBeGreaterThanOrEqual(256);
    expect(http).toBeGreaterThan(0);
    expect(devices).toBeGreaterThan(http);
  });

  it.skipIf(process.platform === 'win32')('come from the limit of this process', () => {
    const soft = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
    expect(descriptorLimit()).toBe(soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft));
  });
});
