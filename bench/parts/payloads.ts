/** Offset of the timestamp in a payload: ten digits of seconds, then milliseconds. */
export const timestampOffset = '{"timestamp":'.length;

/** Builds a typical reading of about 250 bytes: location, status and electric; the timestamp is a placeholder. */
export function payloadTemplate(variant: number): Buffer {
  const wave = Math.sin(variant);
  const digits = (value: number, count: number): string => value.toFixed(count);
  return Buffer.from(
    `{"timestamp":0000000000.000,"location":{"latitude":${digits(48.8566 + wave / 20, 6)},"longitude":${digits(2.3522 + wave / 15, 6)},` +
      `"angle":${100 + (variant % 200)},"altitude":${30 + (variant % 40)},"speed":${20 + (variant % 60)},"satellites":${5 + (variant % 5)}},` +
      `"status":{"ignition":true,"movement":true,"mileage":${digits(12_345 + variant / 10, 1)},"autonomy":${200 + (variant % 99)}},` +
      `"electric":{"soc":${20 + (variant % 70)},"current":${digits(-12.3 - (variant % 9), 1)},"voltage":${digits(390 + wave, 1)}}}`,
  );
}

/** Builds an upload of one reading, or of an array of several, and says where their timestamps begin. */
export function uploadTemplate(variant: number, readings: number): { payload: Buffer; timestampsAt: number[] } {
  const reading = payloadTemplate(variant);
  if (readings === 1) return { payload: reading, timestampsAt: [timestampOffset] };
  const payload = Buffer.from(`[${Array.from({ length: readings }, () => reading.toString()).join(',')}]`);
  const starts = Array.from({ length: readings }, (_unused, index) => 1 + index * (reading.length + 1));
  return { payload, timestampsAt: starts.map((start) => start + timestampOffset) };
}
