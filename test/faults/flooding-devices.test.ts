import { expect, it } from 'vitest';
import { measureFlood } from './parts/flood.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const full = { normalDevices: 200, floodingDevices: 10, seconds: 30 };
/** Runs next to other tests, so the processor is shared. */
const short = { normalDevices: 50, floodingDevices: 5, seconds: 10 };

it('devices that upload 1,000 readings at a time without pause delay themselves and not the others', async () => {
  const result = await measureFlood(scale.patient ? full : short);
  await report('flooding devices', { ...result });
  expect(result.floodUploads).toBeGreaterThan(0);
  expect(result.p99Ms).toBeLessThan(scale.patient ? 1000 : 4000);
}, 300_000);
