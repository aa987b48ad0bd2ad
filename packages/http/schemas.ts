import { type FailureCode, failures } from '@odograph/contracts/failures';
import { storableUnicodePattern } from '@odograph/contracts/text-patterns';
import Type, { type TSchema } from 'typebox';

/** The answer of every failure. `message`, `field` and `reason` are additions to the interface specification. */
export const FailureAnswer = Type.Object(
  {
    error: Type.String({ description: 'the code of the failure' }),
    message: Type.Optional(Type.String()),
    field: Type.Optional(Type.String()),
    reason: Type.Optional(Type.String()),
  },
  { $id: 'Failure' },
);

/** The failures of every route that needs a token. */
const common: readonly FailureCode[] = [
  'INVALID_PARAMETER',
  'MISSING_TOKEN',
  'INVALID_TOKEN',
  'TOKEN_EXPIRED',
  'TOO_MANY_REQUESTS',
  'INTERNAL_ERROR',
  'OVERLOADED',
];

/** The `response` of a route: its success schema, and each failure it can answer under the status of its code. */
export function answers<Success extends TSchema>(
  success: Success,
  ...codes: FailureCode[]
): { 200: Success } & Record<number, TSchema> {
  const byStatus = new Map<number, FailureCode[]>();
  for (const code of [...common, ...codes]) {
    const status = failures[code][0];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const failed: Record<number, TSchema> = {};
  for (const [status, listed] of byStatus) failed[status] = Type.Ref('Failure', { description: listed.join(', ') });
  return { ...failed, 200: success };
}

/** A successful answer without content. */
export const EmptyAnswer = Type.Object({});

/** Text that PostgreSQL can store: neither NUL nor an unpaired surrogate. */
export function text(minLength: number, maxLength: number) {
  return Type.String({ minLength, maxLength, pattern: storableUnicodePattern });
}

/** A password: never stored as it is, so any character is allowed. */
export const Password = Type.String({ minLength: 1, maxLength: 1024 });

/** One of a few words. */
export function word<const Words extends readonly string[]>(words: Words) {
  return Type.Union(words.map((value) => Type.Literal(value)) as TSchema[]) as unknown as Type.TUnsafe<Words[number]>;
}

export const DeviceId = text(1, 256);
export const VehicleId = Type.String({ minLength: 1, maxLength: 256, description: 'vehicle identifier, ten digits' });

/** A Boolean of a request: as JSON, or as `true`, `false`, `1` or `0` in any case. Null and empty values are refused. */
export const Flag = Type.Unsafe<boolean | number | string>({
  anyOf: [{ enum: [true, false, 1, 0] }, { type: 'string', pattern: '^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|1|0)$' }],
  description: 'true or false',
});

/** The value of a Flag. */
export function isTrue(flag: boolean | number | string): boolean {
  return ['true', '1'].includes(String(flag).toLowerCase());
}
