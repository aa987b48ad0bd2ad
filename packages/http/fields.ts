import Type, { type TSchema } from 'typebox';

/** Text that PostgreSQL can store as it is: neither NUL nor half a surrogate pair. */
export function text(minLength: number, maxLength: number) {
  return Type.String({ minLength, maxLength, pattern: '^[^\\u0000\\ud800-\\udfff]*$' });
}

/** Like text(), for one that is refused by its content and not by its form, such as a password of a person. */
export const Password = Type.String({ minLength: 1, maxLength: 1024 });

/** One of a few words. */
export function word<const Words extends readonly string[]>(words: Words) {
  return Type.Union(words.map((value) => Type.Literal(value)) as TSchema[]) as unknown as Type.TUnsafe<Words[number]>;
}

export const DeviceId = text(1, 256);
export const VehicleId = Type.String({ minLength: 1, maxLength: 256, description: 'vehicle identifier, ten digits' });

/**
 * A Boolean of a request, in JSON or as the text `true` or `false`. Nothing else is made one: a null or an empty value that
 * lowered a flag would be a mistake that nobody notices.
 */
export const Flag = Type.Unsafe<boolean | 'true' | 'false'>({
  enum: [true, false, 'true', 'false'],
  description: 'true or false',
});

/** The value of a Flag. */
export function isTrue(flag: boolean | 'true' | 'false'): boolean {
  return flag === true || flag === 'true';
}
