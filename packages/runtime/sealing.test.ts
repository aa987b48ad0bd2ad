import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sealer } from './sealing.ts';

const bytes = fc.uint8Array().map((array) => Buffer.from(array));

describe('a sealer', () => {
  it('opens what it sealed, and only in the same context', () => {
    const sealer = new Sealer(['a secret of thirty-two characters'], 'quarantine');
    fc.assert(
      fc.property(bytes, fc.string(), (plain, context) => {
        const sealed = sealer.seal(plain, context);
        expect(sealer.open(sealed, context)).toEqual(plain);
        expect(() => sealer.open(sealed, `${context}.`)).toThrow();
      }),
    );
  });

  it('refuses bytes that were changed anywhere', () => {
    const sealer = new Sealer(['a secret of thirty-two characters'], 'quarantine');
    const sealed = sealer.seal(Buffer.from('48.8566, 2.3522'), 'here');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => sealer.open(changed, 'here')).toThrow();
    }
  });

  it('opens values sealed under an older key, and reports that they are not current', () => {
    const sealed = new Sealer(['old'], 'quarantine').seal(Buffer.from('x'), '');
    const rotated = new Sealer(['new', 'old'], 'quarantine');
    expect(rotated.open(sealed, '').toString()).toBe('x');
    expect(rotated.isCurrent(sealed)).toBe(false);
    expect(rotated.isCurrent(rotated.seal(Buffer.from('x'), ''))).toBe(true);
    expect(() => new Sealer(['new'], 'quarantine').open(sealed, '')).toThrow('ENCRYPTION_KEYS');
    expect(rotated.fingerprint(Buffer.from('x'))).toEqual(
      new Sealer(['old'], 'quarantine').fingerprint(Buffer.from('x')),
    );
  });

  it('opens nothing that was sealed for another purpose, with the same secret and context', () => {
    const sealed = new Sealer(['a secret'], 'device keys').seal(Buffer.from('x'), 'context');
    const other = new Sealer(['a secret'], 'quarantine');
    expect(other.canOpen(sealed)).toBe(false);
    expect(() => other.open(sealed, 'context')).toThrow('ENCRYPTION_KEYS');
  });
});
