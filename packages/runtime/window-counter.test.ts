import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WindowCounter } from './window-counter.ts';

describe('a window counter', () => {
  it('counts each name separately until its window ends', () => {
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

  it('never holds more than its maximum of names, and forgets the oldest window first', () => {
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
