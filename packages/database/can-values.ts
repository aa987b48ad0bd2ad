/**
 * SQL text of all `can` values of a reading, null without any: those that the device gave, then those decoded from its
 * frames, in one list. Needs the table `reading`.
 */
export const allCanValues = `case when reading.decoded_can is null then reading.can
  else coalesce(reading.can, '[]') || reading.decoded_can end`;
