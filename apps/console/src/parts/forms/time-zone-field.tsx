import type { CallFailure } from '../../api/client.ts';
import { limits } from '../../api/limits.ts';
import { texts } from '../../texts/texts.ts';
import { errorOf, TextInput } from './fields.tsx';

interface TimeZoneFieldOptions {
  readonly value: string;
  readonly failure: CallFailure | undefined;
  readonly onValue: (value: string) => void;
}

/** Takes a time zone; empty for that of the application. */
export function TimeZoneField({ value, failure, onValue }: TimeZoneFieldOptions) {
  const { notifications: text } = texts.value;
  return (
    <TextInput
      label={text.timeZone}
      hint={text.timeZoneHint}
      value={value}
      error={errorOf(failure, 'timeZone')}
      maxLength={limits['/v1/x/notifications'].timeZone.maxLength}
      isOptional
      onValue={onValue}
    />
  );
}
