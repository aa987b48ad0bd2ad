import { describe, expect, it } from 'vitest';
import { base32, findTotpStep, totpCode, totpStep } from './totp.ts';

/** RFC 6238, appendix B, of which six digits are the last six of eight. */
const secret = Buffer.from('12345678901234567890');

describe('a one-time code', () => {
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i s is that of RFC 6238', (seconds, code) => {
    expect(totpCode(secret, totpStep(seconds * 1000))).toBe(code);
  });

  it('is accepted in its own, the previous and the next time step', () => {
    const step = totpStep(Date.now());
    const accepts = (shift: number) =>
      findTotpStep(secret, totpCode(secret, step + shift), step * 30_000) === step + shift;
    expect([-2, -1, 0, 1, 2].map(accepts)).toEqual([false, true, true, true, false]);
    expect(findTotpStep(secret, '', step * 30_000)).toBeUndefined();
  });

  it('encodes its secret in base32 according to RFC 4648', () => {
    expect(['f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map((text) => base32(Buffer.from(text)))).toEqual([
      ...['MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'],
    ]);
  });
});
