import { describe, expect, it } from 'vitest';
import { DeviceShares } from './device-shares.ts';

describe('the share of a device in the live lane', () => {
  it('covers bursts up to 64 KiB and 16 KiB/s for any length of time', () => {
    let nowMs = 0;
    const shares = new DeviceShares(() => nowMs);
    expect(shares.isOver('a', 64 * 1024)).toBe(false);
    for (let second = 0; second < 100; second += 1) {
      nowMs += 1000;
      expect(shares.isOver('a', 16 * 1024)).toBe(false);
    }
    expect(shares.isOver('a', 1)).toBe(true);
  });

  it('is exceeded by large uploads without pause, which leaves the shares of others untouched', () => {
    let nowMs = 0;
    const shares = new DeviceShares(() => nowMs);
    for (let upload = 0; upload < 10; upload += 1) {
      nowMs += 100;
      expect(shares.isOver('flooding', 110 * 1024)).toBe(true);
      expect(shares.isOver('normal', 500)).toBe(false);
    }
  });

  it('recovers within seconds after the device slows down, whatever it uploaded before', () => {
    let nowMs = 0;
    const shares = new DeviceShares(() => nowMs);
    for (let upload = 0; upload < 1000; upload += 1) shares.isOver('a', 250 * 1024);
    nowMs += 2000;
    expect(shares.isOver('a', 20 * 1024)).toBe(false);
  });
});
