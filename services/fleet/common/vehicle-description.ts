import { platePattern } from '@odograph/contracts/text-patterns';
import { text, word } from '@odograph/http/schemas';
import Type from 'typebox';

export const accessories = ['TEMPERATURE-SENSOR', 'CARDHOLDER', 'KEY-DETECTOR'] as const;
const optionalText = (example: string) => Type.Unsafe<string>({ ...text(0, 64, { examples: [example] }), default: '' });

export const Plate = Type.String({
  minLength: 1,
  maxLength: 32,
  examples: ['AB-123-CD'],
  pattern: platePattern,
  // JSON in UTF-8 has no unpaired surrogates, and not every engine of regular expressions knows them.
  documentedAs: { pattern: '^[^\\u0000-\\u001f]*[A-Za-z0-9][^\\u0000-\\u001f]*$' },
});

/** The description of a vehicle without its plate. */
export const DescriptionFields = {
  vin: optionalText('VF1AG000000000001'),
  brand: optionalText('Renault'),
  model: optionalText('Zoe'),
  energy: optionalText('EL'),
  seats: Type.Integer({ minimum: 0, maximum: 1000, default: 0 }),
  gearbox: Type.Unsafe<'' | 'AUTOMATIC' | 'MANUAL'>({ ...word(['', 'AUTOMATIC', 'MANUAL']), default: '' }),
  kind: optionalText('VP'),
  accessories: Type.Array(word(accessories), { maxItems: accessories.length, uniqueItems: true, default: [] }),
};
