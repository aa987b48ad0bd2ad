import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { networkOf, WindowCounter } from './window-counter.ts';

describe('a counter in windows', () => {
  it('counts each name by itself until its window is over', () => {
    const counter = new WindowCounter(1000, 10);
    counter.add('a', 0);
    counter.add('a', 999);
    counter.add('b', 500);
    expect([counter.read('a', 999), counter.read('b', 999), counter.read('c', 999)]).toEqual([2, 1, 0]);
    expect(counter.remainingMs('a', 400)).toBe(600);
    expect([counter.read('a', 1000), counter.read('b', 1000)]).toEqual([0, 1]);
    counter.add('a', 1000);
    expect(counter.read('a', 1500)).toBe(1);
  });

  it('never holds more names than it may, and forgets the oldest window first', () => {
    const names = fc.array(fc.tuple(fc.nat(50), fc.nat(3)), { maxLength: 300 });
    fc.assert(
      fc.property(names, (added) => {
        const counter = new WindowCounter(100, 7);
        let now = 0;
        for (const [name, pause] of added) {
          now += pause;
          counter.add(String(name), now);
          expect(counter.size).toBeLessThanOrEqual(7);
          expect(counter.read(String(name), now)).toBeGreaterThan(0);
        }
      }),
    );
    const counter = new WindowCounter(100, 2);
    for (const name of ['a', 'b', 'c']) counter.add(name, 0);
    expect(['a', 'b', 'c'].map((name) => counter.read(name, 0))).toEqual([0, 1, 1]);
  });
});

it('takes the addresses that one host can choose from for one', () => {
  expect(networkOf('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(networkOf('10.0.0.1')).toBe('10.0.0.1');
  expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0::/64');
  expect(networkOf('2001:DB8:0:0:9:8:7:6')).toBe('2001:db8:0:0::/64');
  expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  expect(networkOf('::1')).toBe('0:0:0:0::/64');
});
